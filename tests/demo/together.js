/**
 * Runs half of the page's test files in this process, with one browser and one server. run.js names the files.
 *
 * @param {0 | 1} half 0: the first, third, fifth ... file; 1: the others
 */
export async function runHalf(half) {
  const files = (process.env.GPT_LAYERS_PAGE_TESTS ?? '').split(',')
  for (const file of files.filter((_, i) => i % 2 === half)) await import(`../../${file}`)
}
