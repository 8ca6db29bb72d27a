// Prints the milliseconds of the first load() in a process, or null where this build or this many threads are
// not available:
//   node load-once.js OPTIONS [URL of another package's module]

const [given, url = '../../dist/index.js'] = process.argv.slice(2)
const options = JSON.parse(given)
const module = await import(url)
const start = performance.now()
try {
  // An older version's `load` returns the API; today the module itself is the API.
  const gpt = (await module.load(options)) ?? module
  const time = performance.now() - start
  console.log(gpt.threads === options.threads ? time : null)
  gpt.dispose()
} catch (error) {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'UNSUPPORTED') throw error
  console.log(null)
}
