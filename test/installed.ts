import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'

/** What `dist` is made from. */
const sources = [
  'src',
  'package.json',
  'tsconfig.json',
  'tsup.config.ts',
  'scripts/beside.ts',
  'scripts/commonjs.ts',
  'scripts/pure-namespaces.ts',
  'scripts/web-build.ts',
]

/**
 * Makes a project in `home` that has this package installed from its tarball. What the package depends on is
 * linked; nothing is downloaded. `dist` is packed if it was built from the sources as they are now, as it is
 * after `npm run build`; otherwise it is built from a copy of them, which takes some 20 seconds. `more` names
 * packages of this repository that the project has beside it.
 */
export function installInto(home: string, more: readonly string[] = []): void {
  const source = join(home, 'source')
  mkdirSync(source)
  const built = isBuilt()
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] }
  const packed = files.filter((file) => file !== 'dist' && !file.startsWith('!'))
  const parts = new Set([...(built ? ['dist', 'package.json'] : sources), ...packed])
  for (const part of parts) cpSync(part, join(source, part), { recursive: true })
  if (!built) {
    symlinkSync(resolve('node_modules'), join(source, 'node_modules'))
    const build = join('node_modules', 'tsup', 'dist', 'cli-default.js')
    execFileSync(process.execPath, [build], { cwd: source, stdio: 'pipe' })
  }
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
  for (const name of [...Object.keys(dependencies), '@types/node', 'undici-types', 'typescript', ...more])
    link(name, modules)
  writeFileSync(join(home, 'package.json'), '{ "type": "module" }\n')
}

/**
 * Whether every file that the package leads to is in `dist`, and was written after the last change of its
 * sources.
 */
function isBuilt(): boolean {
  const { exports: doors, bin } = JSON.parse(readFileSync('package.json', 'utf8'))
  const built = JSON.stringify([doors, bin]).match(/dist\/[\w./-]+/g) ?? []
  if (built.length === 0 || !built.every((path) => existsSync(path))) return false
  const changed = sources.flatMap((path) => [path, ...below(path)]).map((path) => statSync(path).mtimeMs)
  const newest = Math.max(...changed)
  return [...built, ...below('dist')].every((path) => statSync(path).mtimeMs > newest)
}

/** With the directories: a file that is taken away changes only its own. */
function below(path: string): string[] {
  if (!statSync(path).isDirectory()) return []
  return readdirSync(path, { recursive: true }).map((name) => join(path, String(name)))
}

function link(name: string, modules: string): void {
  const to = join(modules, name)
  if (existsSync(to)) return
  mkdirSync(join(to, '..'), { recursive: true })
  symlinkSync(resolve('node_modules', name), to)
}
