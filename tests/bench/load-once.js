// Prints the milliseconds of the first load() in a process, or null where this build or this many threads are
// not available:
//   node load-once.js OPTIONS [URL of another package's module]

const [given, url = '../../dist/index.js'] = process.argv.slice(2)
const options = JSON.parse(given)
const { load } = await import(url)
const start = performance.now()
try {
  const gpt = await load(options)
  const time = performance.now() - start
  console.log(gpt.threads === options.threads ? time : null)
  gpt.dispose()
} catch (error) {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'UNSUPPORTED') throw error
  console.log(null)
}
