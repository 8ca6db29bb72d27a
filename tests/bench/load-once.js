// Prints the milliseconds of the first load() in a process: node load-once.js OPTIONS

import { timeLoad } from './costs.js'

console.log(JSON.stringify(await timeLoad(JSON.parse(process.argv[2]))))
