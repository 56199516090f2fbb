// How strong are the quick tests? Changes single tokens of src, and looks whether an assertion fails:
//
//   npm run mutants                                    12 mutants of the core
//   npm run mutants -- --seed 7 --count 60             others, and more
//   npm run mutants -- --folders frames test/frames    of this folder, by these tests
//   npm run mutants -- --once                          without the second try
//
// All mutants are in the code at once, each behind a switch, so that a test runs again for a mutant without
// loading anything. What survives that is tried once more as a person would: its token is changed in a copy
// of the project, and the tests run there. A mutant counts as dead only by a failed assertion: a crash or an
// endless loop is listed, but no test has said what is wrong then.
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
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { allMutants, type Mutant, type MutantEnd, withMutant } from './mutants/sites.ts'

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
const touched = new Set(read<{ id: number }>('touched').map(({ id }) => id))
const ends = new Map<number, MutantEnd>()
for (const end of read<MutantEnd>('ends')) noteEnd(end)
for (const mutant of given.once ? [] : chosen) {
  const end = isDead(mutant) ? undefined : endInCopy(mutant)
  if (end) noteEnd(end)
}
for (const mutant of chosen) console.log(described(mutant))
const dead = chosen.filter(isDead)
console.log(`${dead.length} of ${chosen.length} mutants die by a failed assertion`)
process.exitCode = dead.length < 0.9 * chosen.length ? 1 : 0

function isDead({ id }: Mutant): boolean {
  return ends.get(id)?.by === 'assertion'
}

/** A failed assertion says more than a crash. */
function noteEnd(end: MutantEnd): void {
  if (ends.get(end.id)?.by !== 'assertion') ends.set(end.id, end)
}

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

function read<Fact>(name: string): Fact[] {
  const path = join(dir, name)
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
  return lines.map((line) => JSON.parse(line))
}

/** What vitest writes of a run as JSON. */
interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly failureMessages?: readonly string[]
    }[]
  }[]
}

function endInCopy(mutant: Mutant): MutantEnd | undefined {
  const copy = join(dir, 'copy')
  if (!existsSync(copy)) copyProject(copy)
  const path = join(copy, mutant.file)
  const text = readFileSync(path, 'utf8')
  const report = join(dir, 'report.json')
  rmSync(report, { force: true })
  writeFileSync(path, withMutant(text, mutant))
  try {
    const json = ['--reporter=json', `--outputFile=${report}`]
    if (vitest(copy, ['--project', 'quick', '--bail', '1', ...json, ...tests]) === 0) return undefined
  } finally {
    writeFileSync(path, text)
  }
  const { testResults }: Report = existsSync(report)
    ? JSON.parse(readFileSync(report, 'utf8'))
    : { testResults: [] }
  const failed = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.flatMap(({ fullName, failureMessages = [] }) =>
      failureMessages.map((why) => ({ test: `${relative(copy, name)} > ${fullName}`, why })),
    ),
  )
  const asserted = failed.find(({ why }) => why.includes('AssertionError'))
  if (asserted) return { id: mutant.id, by: 'assertion', test: asserted.test }
  return { id: mutant.id, by: 'crash', test: failed[0]?.test ?? 'the whole run' }
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
  const place = `${file}:${line} ${old} -> ${now || '(nothing)'}`
  const end = ends.get(id)
  if (end) return `${end.by === 'assertion' ? 'dead' : 'crash'}: ${place}, in ${end.test}`
  const code = readFileSync(join(root, file), 'utf8').split('\n')[line - 1]!.trim()
  const never = touched.has(id) ? '' : ', which no test reaches'
  return `alive: ${place}${never}\n    ${code.slice(0, 100)}`
}
