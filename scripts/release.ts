// Rehearses a release: `npm run release -- --dry`. Everything but the last step happens as it would: the
// version, its section in the changelog, the tarball, a publication (to a registry on loopback), an install
// from there, and programs that use it in each runtime. Without --dry it also wants what only the owner can
// fill in, a clean tree and a free tag, and prints the two commands that publish.
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { compilePrograms, programs, runProgram } from './matrix/programs.ts'
import { fetchRuntime } from './matrix/runtimes.ts'
import { loopbackRegistry } from './release/loopback-registry.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly scripts?: unknown
  readonly devDependencies: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

const { dry } = parseArgs({ options: { dry: { type: 'boolean', default: false } } }).values
const manifest: Manifest = JSON.parse(readFileSync('package.json', 'utf8'))
const { name, version } = manifest
const tag = `v${version}`
const dir = mkdtempSync(join(tmpdir(), 'sluice-release-'))
const wrong: string[] = []

try {
  step('the version, and its section in the changelog', checkVersion)
  step('what the owner fills in', checkOwner)
  const tarball = step('the tarball', pack)
  const registry = await loopbackRegistry(npm(['config', 'get', 'registry']).trim())
  try {
    await step('published to a registry on loopback', () => publish(tarball, registry.url))
    const home = await step('installed from there, without a warning', () => install(registry.url))
    step('types under node10, node16 and bundler, strict', () => checkTypes(home))
    await step('programs in Node, Bun, Deno, workerd, a browser, and bundled', () => runPrograms(home))
  } finally {
    registry.close()
  }
} catch (error) {
  wrong.push(error instanceof Error ? error.message : String(error))
} finally {
  rmSync(dir, { recursive: true, force: true })
}
for (const line of wrong) console.error(`not ready: ${line}`)
if (wrong.length > 0) process.exitCode = 1
else if (dry) console.log(`\n${name} ${version} can be released: the rehearsal is green`)
else console.log(`\nNow: git tag ${tag} && git push origin ${tag} && npm publish`)

function step<T>(title: string, act: () => T): T {
  console.log(`== ${title}`)
  return act()
}

function checkVersion(): void {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) wrong.push(`the version ${version} is none of semver`)
  const [heading] = new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b.*$`, 'm').exec(
    readFileSync('CHANGELOG.md', 'utf8'),
  ) ?? [undefined]
  if (heading === undefined) wrong.push(`CHANGELOG.md has no section "## ${version}"`)
  else console.log(heading)
  const isReleased = git('tag', '--list', tag) !== ''
  if (isReleased) wrong.push(`the tag ${tag} is there already`)
  if (dry) return
  if (heading?.includes('unreleased')) wrong.push(`the section of ${version} in CHANGELOG.md has no date yet`)
  if (git('status', '--porcelain') !== '') wrong.push('there are changes that are not committed')
}

function checkOwner(): void {
  const missing = ['repository', 'homepage', 'bugs'].filter((field) => manifest[field] === undefined)
  if (missing.length === 0) return
  const words = `package.json has no ${missing.join(', ')} (docs/releasing.md)`
  if (dry) console.log(`still to be filled in: ${words}`)
  else wrong.push(words)
}

/** Makes the tarball as `npm publish` would, and looks into it. */
function pack(): string {
  npm(['pack', '--pack-destination', dir])
  const tarball = join(dir, readdirSync(dir).find((file) => file.endsWith('.tgz'))!)
  const files = execFileSync('tar', ['tzf', tarball], { encoding: 'utf8' }).trim().split('\n')
  const foreign = files.filter((file) =>
    /^package\/(src|test|fixtures|scripts|node_modules)\/|\.map$/.test(file),
  )
  if (foreign.length > 0) wrong.push(`the tarball has ${foreign.length} files too many: ${foreign[0]}`)
  const packed: Manifest = JSON.parse(
    execFileSync('tar', ['xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }),
  )
  if (packed.scripts || packed.devDependencies)
    wrong.push('the packed package.json has scripts of the repository')
  const provenance = (packed['publishConfig'] as { provenance?: boolean } | undefined)?.provenance === true
  console.log(`${files.length} files; provenance is ${provenance ? 'on' : 'off until there is a repository'}`)
  return tarball
}

async function publish(tarball: string, url: string): Promise<void> {
  // npm sends nothing without a token; this registry takes any.
  writeFileSync(join(dir, '.npmrc'), `${url.replace('http:', '')}/:_authToken=rehearsal\n`)
  await npmLater(['publish', tarball, '--registry', url, '--userconfig', join(dir, '.npmrc')], dir)
}

/** A project of somebody who has only the package, and the programs that test/consumer uses. */
async function install(url: string): Promise<string> {
  const home = join(dir, 'project')
  mkdirSync(home)
  writeFileSync(join(home, 'package.json'), '{ "type": "module", "private": true }\n')
  const beside = ['typescript', '@types/node', 'zod', 'esbuild', '@lydell/node-pty']
  const wanted = beside.map((other) => `${other}@${manifest.devDependencies[other]}`)
  const said = await npmLater(
    ['install', `${name}@${version}`, ...wanted, '--registry', url, '--no-audit'],
    home,
  )
  const warnings = said.split('\n').filter((line) => line.includes('warn') && line.includes(name))
  wrong.push(...warnings)
  return home
}

function checkTypes(home: string): void {
  const program = `import { run, tryParse } from '${name}'
import { handler } from '${name}/serve'
import { codex } from '${name}/engines'
export const outcome = tryParse('{"a":1}')
export const ended = () => run('codex', [], { engine: codex }).end.then(({ ok }) => ok)
export const runs = handler({ dir: '.audit', allow: () => true })
`
  for (const [resolution, module] of [
    ['node10', 'commonjs'],
    ['node16', 'node16'],
    ['bundler', 'esnext'],
  ] as const) {
    const folder = join(home, `types-${resolution}`)
    mkdirSync(folder)
    writeFileSync(join(folder, 'program.ts'), program)
    const options = [
      '--strict',
      '--noEmit',
      '--target',
      'es2022',
      '--types',
      'node',
      '--ignoreDeprecations',
      '6.0',
    ]
    const how = ['--module', module, '--moduleResolution', resolution]
    execFileSync(
      process.execPath,
      [join(home, 'node_modules/typescript/bin/tsc'), ...options, ...how, 'program.ts'],
      { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] },
    )
  }
}

async function runPrograms(home: string): Promise<void> {
  for (const runtime of ['bun', 'deno', 'workerd'] as const) await fetchRuntime(runtime)
  await compilePrograms(home)
  for (const program of programs) {
    const right = (await runProgram(program, home)) === program.prints
    console.log(`${right ? 'right' : 'WRONG'}  ${program.file} (${program.where})`)
    if (!right) wrong.push(`${program.file} prints something else`)
  }
}

function npm(args: readonly string[]): string {
  return execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** The same while the registry in this process answers. Returns what npm said. */
async function npmLater(args: readonly string[], cwd: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('npm', [...args], { cwd, maxBuffer: 2 ** 26 })
  return stdout + stderr
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim()
}
