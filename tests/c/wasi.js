/** Runs a WASI program, in a process of its own because it may crash or hang: node wasi.js <program.wasm> */
import { readFileSync } from 'node:fs'
import { WASI } from 'node:wasi'

const wasi = new WASI({ version: 'preview1', returnOnExit: true })
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), wasi.getImportObject())
process.exitCode = wasi.start(instance)
