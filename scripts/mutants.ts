// How strong are the quick tests? Changes single tokens of src, and looks whether a test fails:
//
//   npm run mutants                                    12 mutants of the core
//   npm run mutants -- --seed 7 --count 60             others, and more
//   npm run mutants -- --folders frames test/frames    of this folder, by these tests
//   npm run mutants -- --once                          without the second try
//
// All mutants are in the code at once, each behind a switch, so that a test runs again for a mutant without
// loading anything. What survives that is tried once more as a person would: its token is changed in a copy
// of the project, and the tests run there.
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { allMutants, type Mutant, withMutant } from './mutants/sites.ts'

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '12' },
    folders: { type: 'string', default: 'text,json,repair,frames,values,events' },
    once: { type: 'boolean', default: false },
  },
})
const root = join(import.meta.dirname, '..')
const core = 'text json repair frames laws.test.ts values events ask engines.test.ts'
const tests = positionals.length > 0 ? positionals : core.split(' ').map((name) => `test/${name}`)
const dir = mkdtempSync(join(tmpdir(), 'sluice-mutants-'))
process.on('exit', () => rmSync(dir, { recursive: true, force: true }))

const chosen = choose(allMutants(root, given.folders.split(',')), Number(given.count), Number(given.seed))
writeFileSync(join(dir, 'mutants.json'), JSON.stringify(chosen))
console.log(`${chosen.length} mutants of ${given.folders}, seed ${given.seed}`)
vitest(root, ['--config', 'scripts/mutants/vitest.config.ts', ...tests], { SLUICE_MUTANTS: dir })
const dead = idsIn('dead')
const touched = idsIn('touched')
const suspects = chosen.filter(({ id }) => !dead.has(id))
const alive = given.once ? suspects : suspects.filter(survivesInCopy)
for (const mutant of alive) console.log(described(mutant))
console.log(`${chosen.length - alive.length} of ${chosen.length} mutants die`)
process.exitCode = alive.length > chosen.length / 10 ? 1 : 0

/** Some of all mutants, the same for the same seed. */
function choose(all: readonly Mutant[], count: number, seed: number): Mutant[] {
  let state = seed >>> 0
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  const picked = new Set<Mutant>()
  while (picked.size < Math.min(count, all.length)) picked.add(all[Math.floor(random() * all.length)]!)
  return [...picked]
}

function idsIn(name: string): Set<number> {
  const path = join(dir, name)
  return new Set(existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean).map(Number) : [])
}

function survivesInCopy(mutant: Mutant): boolean {
  const copy = join(dir, 'copy')
  if (!existsSync(copy)) copyProject(copy)
  const path = join(copy, mutant.file)
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, withMutant(text, mutant))
  try {
    return vitest(copy, ['--project', 'quick', '--bail', '1', ...tests]) === 0
  } finally {
    writeFileSync(path, text)
  }
}

function copyProject(copy: string): void {
  mkdirSync(copy)
  for (const name of readdirSync(root)) {
    if (name === '.git') continue
    if (name === 'node_modules') symlinkSync(join(root, name), join(copy, name))
    else cpSync(join(root, name), join(copy, name), { recursive: true })
  }
}

function vitest(cwd: string, args: readonly string[], env: Record<string, string> = {}): number | null {
  const { status } = spawnSync('npx', ['vitest', 'run', ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: env['SLUICE_MUTANTS'] ? 'inherit' : 'ignore',
    timeout: 400_000,
  })
  return status
}

function described(mutant: Mutant): string {
  const { file, line, old, now, id } = mutant
  const code = readFileSync(join(root, file), 'utf8').split('\n')[line - 1]!.trim()
  const never = touched.has(id) ? '' : ', which no test reaches'
  return `alive: ${file}:${line} ${old} -> ${now || '(nothing)'}${never}\n    ${code.slice(0, 100)}`
}
