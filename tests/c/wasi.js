// Runs a WASI program: node wasi.js <program.wasm> [argument ...]. In a process of its own, because the
// program may crash or hang.
import { readFileSync } from 'node:fs'
import { WASI } from 'node:wasi'

const wasi = new WASI({ version: 'preview1', args: process.argv.slice(2), returnOnExit: true })
const imports = /** @type {WebAssembly.Imports} */ (wasi.getImportObject())
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), imports)
process.exitCode = wasi.start(instance)
