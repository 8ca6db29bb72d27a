/**
 * Runs every second one of the page's test files that run.js names, in this process: they share one browser and
 * one server, and only the first load of the page is slow.
 *
 * @param {0 | 1} half
 */
export async function runHalf(half) {
  const files = (process.env.GPT_LAYERS_PAGE_TESTS ?? '').split(',')
  for (const file of files.filter((_, i) => i % 2 === half)) await import(`../../${file}`)
}
