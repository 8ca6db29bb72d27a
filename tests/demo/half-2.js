import { runHalf } from './together.js'

await runHalf(1)
