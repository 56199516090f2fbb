import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunnerTestCase, TestRunner } from 'vitest'

const dir = process.env['SLUICE_MUTANTS']!
const hits = new Set<number>()
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
    keep('touched', touched)
    readDead()
    const alive = touched.filter((id) => !dead.has(id))
    if (alive.length === 0) return
    // A test that cannot run twice says nothing about mutants here.
    const [again] = await runWith(run, 0, Number.POSITIVE_INFINITY)
    if (again) return
    for (const id of alive) {
      const [error] = await runWith(run, id, 20 * plainTurns + 100_000)
      if (!error) continue
      dead.add(id)
      keep('dead', [id])
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

/** The other worker kills mutants, too. */
function readDead(): void {
  const path = join(dir, 'dead')
  if (!existsSync(path)) return
  for (const id of readFileSync(path, 'utf8').split('\n')) if (id) dead.add(Number(id))
}

function keep(name: string, ids: readonly number[]): void {
  if (ids.length > 0) appendFileSync(join(dir, name), ids.map((id) => `${id}\n`).join(''))
}
