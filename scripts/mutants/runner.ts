import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunnerTestCase, TestRunner } from 'vitest'
import type { MutantEnd } from './sites.ts'

const dir = process.env['SLUICE_MUTANTS']!
const hits = new Set<number>()
/** The mutants that an assertion has noticed. */
const dead = new Set<number>()
/** The mutant that is switched on, 0 for none. */
let active = 0
let turns = 0
let mostTurns = Number.POSITIVE_INFINITY

Object.assign(globalThis, {
  __mutant(id: number): boolean {
    hits.add(id)
    return id === active
  },
  __turn(): void {
    if (++turns > mostTurns) throw new Error('a mutant made a loop endless')
  },
})

/** Runs each test as it is, and then once more for each mutant that it touches and that is still alive. */
export default class MutantRunner extends TestRunner {
  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test)
    const [plain, plainTurns] = await runWith(run, 0, Number.POSITIVE_INFINITY)
    if (plain) throw plain
    const touched = [...hits]
    keep(
      'touched',
      touched.map((id) => ({ id })),
    )
    readDead()
    const alive = touched.filter((id) => !dead.has(id))
    if (alive.length === 0) return
    // A test that cannot run twice says nothing about mutants here.
    const [again] = await runWith(run, 0, Number.POSITIVE_INFINITY)
    if (again) return
    for (const id of alive) {
      const [error] = await runWith(run, id, 20 * plainTurns + 100_000)
      if (!error) continue
      const end: MutantEnd = { id, by: isAssertion(error) ? 'assertion' : 'crash', test: fullName(test) }
      if (end.by === 'assertion') dead.add(id)
      keep('ends', [end])
    }
  }
}

async function runWith(run: () => unknown, id: number, most: number): Promise<[unknown, number]> {
  hits.clear()
  active = id
  turns = 0
  mostTurns = most
  try {
    await run()
    return [undefined, turns]
  } catch (error) {
    return [error ?? new Error('a test threw nothing'), turns]
  } finally {
    active = 0
    mostTurns = Number.POSITIVE_INFINITY
  }
}

/** Whether a test says so itself. Properties wrap what their predicate has thrown. */
function isAssertion(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each.name === 'AssertionError') return true
  return false
}

function fullName({ name, file, suite }: RunnerTestCase): string {
  return [file.name, ...(suite ? [suite.name] : []), name].join(' > ')
}

/** The other worker kills mutants, too. */
function readDead(): void {
  const path = join(dir, 'ends')
  if (!existsSync(path)) return
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const end: MutantEnd | undefined = line === '' ? undefined : JSON.parse(line)
    if (end?.by === 'assertion') dead.add(end.id)
  }
}

function keep(name: string, facts: readonly object[]): void {
  if (facts.length > 0)
    appendFileSync(join(dir, name), facts.map((fact) => `${JSON.stringify(fact)}\n`).join(''))
}
