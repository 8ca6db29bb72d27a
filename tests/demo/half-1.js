import { runHalf } from './together.js'

await runHalf(0)
