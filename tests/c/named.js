// The kernels' tests with the given names, natively under AddressSanitizer and UBSan, in the code of both
// builds: node tests/c/named.js layernorm

import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { SANITIZERS, compileBoth } from './objects.js'

process.chdir(fileURLToPath(new URL('../../', import.meta.url)))
const names = process.argv.slice(2)
const flags = execFileSync('./build.sh', ['flags', 'native'], { encoding: 'utf8' }).trim().split(' ')
const compiler = process.env.CC || 'gcc'
const sources = ['c/', 'tests/c/'].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.c'))
    .map((name) => folder + name),
)

try {
  const objects = await compileBoth([compiler, ...flags, '-Ic'], 'build/objects', sources)
  for (const build of /** @type {const} */ (['simd', 'relaxed'])) {
    const program = `build/test-kernels-native-${build}`
    execFileSync(compiler, [...flags, '-o', program, ...objects[build], '-lm'], { stdio: 'pipe' })
    console.log(`natively, as the ${build} build:`)
    const { status } = spawnSync(program, names, { stdio: 'inherit', env: { ...process.env, ...SANITIZERS } })
    if (status !== 0) process.exitCode = 1
    if (status === 2) break // no test has this name
  }
} catch (error) {
  // @ts-expect-error the compiler's messages
  console.log(error.stderr ?? error)
  process.exitCode = 1
}
