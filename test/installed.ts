import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * Makes a project in `home` that has this package installed from its tarball: built and packed from a copy of the sources, so
 * that a `dist` that is here, or is being built, plays no part. What the package depends on is linked; nothing is downloaded.
 */
export function installInto(home: string): void {
  const source = join(home, 'source')
  mkdirSync(source)
  for (const part of [
    'src',
    'schemas',
    'package.json',
    'tsconfig.json',
    'tsup.config.ts',
    'README.md',
    'LICENSE',
  ])
    cpSync(part, join(source, part), { recursive: true })
  symlinkSync(resolve('node_modules'), join(source, 'node_modules'))
  const build = join('node_modules', 'tsup', 'dist', 'cli-default.js')
  execFileSync(process.execPath, [build], { cwd: source, stdio: 'pipe' })
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', home], {
    cwd: source,
    stdio: 'pipe',
  })
  const tarball = readdirSync(home).find((name) => name.endsWith('.tgz'))!
  const modules = join(home, 'node_modules')
  const here = join(modules, 'agent-sluice')
  mkdirSync(here, { recursive: true })
  execFileSync('tar', ['xzf', join(home, tarball), '--strip-components=1', '-C', here])
  const { dependencies } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'))
  // The types of Node and the compiler are what a project has beside it.
  for (const name of [...Object.keys(dependencies), '@types/node', 'undici-types', 'typescript'])
    link(name, modules)
  writeFileSync(join(home, 'package.json'), '{ "type": "module" }\n')
}

function link(name: string, modules: string): void {
  const to = join(modules, name)
  if (existsSync(to)) return
  mkdirSync(join(to, '..'), { recursive: true })
  symlinkSync(resolve('node_modules', name), to)
}
