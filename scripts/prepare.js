// Builds the package after an install. If dev dependencies are missing (an install from a plain path or a
// git address), they are installed first, because the build needs them.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'

function run(...args) {
  const { status } = spawnSync(npm, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

if (!existsSync('node_modules/tsup')) run('install', '--ignore-scripts', '--include=dev', '--no-save')
run('run', 'build')
