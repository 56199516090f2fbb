// What only checks or slow tests need is in folders with a lock of their own, so that `npm ci` stays small:
//
//   node scripts/packages-of.js examples/servers                installs the packages of that folder, if
//                                                               they are missing or its lock has changed
//   node scripts/packages-of.js scripts/check biome check .     and runs one of their programs
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder, program, ...args] = process.argv.slice(2)
const modules = join(folder, 'node_modules')
const lock = join(folder, 'package-lock.json')
/** A copy of the lock, written when its packages are complete. */
const installed = join(modules, '.installed-lock.json')
/** Node starts a .cmd file through a shell only. */
const shell = process.platform === 'win32'

if (!existsSync(installed) || !readFileSync(installed).equals(readFileSync(lock))) install()
if (program) {
  // A program that looks at the packed package packs what is built, without building it once more.
  const env = { ...process.env, npm_config_ignore_scripts: 'true' }
  const { status, error } = spawnSync(join(modules, '.bin', program), args, { stdio: 'inherit', shell, env })
  if (error) console.error(`${program} cannot be started: ${error.message}`)
  process.exitCode = status ?? 1
}

function install() {
  const words = ['ci', '--no-audit', '--no-fund', '--prefix', folder]
  console.log(`npm ${words.join(' ')}   # its packages are missing, or its lock has changed`)
  const { status, error, stdout, stderr } = spawnSync('npm', words, { encoding: 'utf8', shell })
  if (status === 0) return copyFileSync(lock, installed)
  console.error(`${error?.message ?? ''}${stdout}${stderr}`)
  console.error(`The packages of ${folder} cannot be installed. With a connection: npm ${words.join(' ')}`)
  process.exit(1)
}
