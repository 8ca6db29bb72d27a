// Prints the milliseconds of the first load() in a process: node load-once.js OPTIONS [URL of another
// package's module]

import { timeLoad } from './time-load.js'

const [options, url = '../../dist/index.js'] = process.argv.slice(2)
const { load } = await import(url)
console.log(JSON.stringify(await timeLoad(load, JSON.parse(options))))
