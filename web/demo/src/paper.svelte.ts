/** Whether the page is being printed: a component reads it, and then shows its answer, or all of its steps. */
export const paper = $state({ printing: false })
