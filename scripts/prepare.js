// Builds the package after an install, and prints nothing unless that fails. If dev dependencies are missing
// (an install from a plain path or a git address), they are installed first, because the build needs them.
// `npm ci`, which is for those who work on the package, builds what runs, and leaves the types to
// `npm run build`.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'

function run(...args) {
  // Node starts a .cmd file through a shell only.
  const { status, stdout, stderr, error } = spawnSync(npm, args, {
    encoding: 'utf8',
    shell: process.platform === 'win32',
    maxBuffer: 2 ** 26,
  })
  if (status === 0) return
  console.error(`npm ${args.join(' ')} failed:\n${error?.message ?? ''}${stdout}${stderr}`)
  process.exit(status ?? 1)
}

if (!existsSync('node_modules/tsup')) run('install', '--ignore-scripts', '--include=dev', '--no-save')
run('run', 'build', ...(process.env.npm_command === 'ci' ? ['--', '--no-dts'] : []))
