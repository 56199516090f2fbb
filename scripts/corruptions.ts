// Breaks random documents in one place each, in every way of test/values/corrupt.ts, and counts what we and
// our peers return: the original (right), a fault, or another value (WRONG).
//
//   npx tsx scripts/corruptions.ts                  the table
//   npx tsx scripts/corruptions.ts --write          puts it into bench/corruptions.md
//   npx tsx scripts/corruptions.ts --kind NAME   what was misread, for kinds with NAME in their name
//   npx tsx scripts/corruptions.ts --pairs 20000    two corruptions at once: each WRONG, smallest first
//   --door NAME (or all): the pairs at the doors of test/values/door-readers.ts with NAME in their name
//   --from N (1): the first pair's seed, --seeds N (120), --schema (ours with a schema), --ours (no peers)
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { tryParse } from '../src/values/parse.ts'
import { jsonSchema } from '../src/values/schema/json-schema.ts'
import { type Count, judge, KINDS, type Kind, type Miss, measure, pairsOf } from '../test/values/corrupt.ts'
import { doorsWith, reasonOf } from '../test/values/door-readers.ts'
import type { Answer } from '../test/values/doors.ts'
import { type Peer, peers } from '../test/values/peers.ts'

const { values: options } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    kind: { type: 'string' },
    pairs: { type: 'string' },
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '120' },
    door: { type: 'string', multiple: true },
    schema: { type: 'boolean', default: false },
    ours: { type: 'boolean', default: false },
  },
})
const seeds = Number(options.seeds)
const schema = options.schema ? jsonSchema({ type: 'object' }) : undefined

const ours: Peer = {
  name: 'agent-sluice',
  parse(text) {
    const outcome = tryParse(text, { schema })
    if (outcome.ok) return outcome.value
    throw outcome.fault
  },
}

if (options.pairs !== undefined) await showPairs(Number(options.pairs))
else if (options.kind !== undefined) showKinds(options.kind)
else {
  const parsers = options.ours ? [ours] : [ours, ...(await peers())]
  const results = parsers.map((parser) => [parser.name, countsOf(parser)] as const)
  const table = tableOf(results)
  if (options.write) write(table)
  console.log(table)
  console.log(summaryOf(results))
}

/** For each kind, the sum of the counts of both layouts. */
function countsOf({ parse }: Peer, kinds = KINDS): Map<string, Count> {
  const compact = measure(kinds, parse, { seeds, layout: 'compact' })
  const pretty = measure(kinds, parse, { seeds, layout: 'pretty' })
  return new Map(kinds.map(({ name }) => [name, sum(compact.get(name)!, pretty.get(name)!)]))
}

function sum(one: Count, two: Count): Count {
  return {
    right: one.right + two.right,
    fault: one.fault + two.fault,
    wrong: one.wrong + two.wrong,
    missed: [...one.missed, ...two.missed],
  }
}

type Results = readonly (readonly [name: string, counts: Map<string, Count>])[]

function tableOf(results: Results): string {
  const rows = KINDS.map((kind) => [
    kind.refused ? `${kind.name} (refused)` : kind.name,
    ...results.map(([, counts]) => cellOf(counts.get(kind.name)!)),
  ])
  const total = results.map(([, counts]) => cellOf([...counts.values()].reduce(sum)))
  return [
    ['kind', ...results.map(([name]) => name)],
    ['---', ...results.map(() => '---')],
    ...rows,
    ['**all**', ...total],
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

function cellOf({ right, fault, wrong }: Count): string {
  return `${right} / ${fault} / ${wrong > 0 ? `**${wrong}**` : 0}`
}

function summaryOf(results: Results): string {
  const [[, mine], ...theirs] = results as [Results[number], ...Results]
  const lines = KINDS.flatMap((kind) => {
    const { right, wrong } = mine.get(kind.name)!
    const best = Math.max(0, ...theirs.map(([, counts]) => counts.get(kind.name)!.right))
    const behind = !kind.refused && right < best
    if (wrong === 0 && !behind) return []
    return `  ${kind.name}: ${[wrong > 0 ? `${wrong} WRONG` : '', behind ? `${right} right, best ${best}` : ''].filter(Boolean).join(', ')}`
  })
  const head = `${KINDS.length} kinds, ${KINDS.filter(isJudged).length} not refused; wrong or behind the best peer in ${lines.length}:`
  return ['', head, ...lines].join('\n')
}

function isJudged(kind: Kind): boolean {
  return !kind.refused
}

function write(table: string): void {
  const page = new URL('../bench/corruptions.md', import.meta.url)
  const [start, end] = ['<!-- corruptions -->', '<!-- /corruptions -->']
  const text = readFileSync(page, 'utf8')
  const [from, to] = [text.indexOf(start), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`bench/corruptions.md needs the lines ${start} and ${end}`)
  writeFileSync(page, `${text.slice(0, from + start.length)}\n\n${table}\n\n${text.slice(to)}`)
}

function showKinds(name: string): void {
  const kinds = KINDS.filter((kind) => kind.name.includes(name))
  if (kinds.length === 0) throw new Error(`no kind has ${name} in its name`)
  const counts = countsOf(ours, kinds)
  for (const kind of kinds) {
    const count = counts.get(kind.name)!
    console.log(`\n## ${kind.name}: ${cellOf(count)}`)
    for (const miss of smallest(count.missed).slice(0, 20)) show(miss)
  }
}

async function showPairs(count: number): Promise<void> {
  const cases = pairsOf(count, KINDS, Number(options.from))
  const { door: wanted } = options
  if (!wanted) return showCount('pairs', judge(cases, ours.parse))
  for (const [name, door] of Object.entries(doorsWith(schema))) {
    if (!wanted.some((one) => one === 'all' || name.includes(one))) continue
    const answers = new Map<string, Answer>()
    for (const { text } of cases) {
      // The answer that the whole input gives is not needed: only another value is a failure.
      if (reasonOf(door, text, { value: undefined }) === undefined) answers.set(text, await door.read(text))
    }
    const carried = cases.filter(({ text }) => answers.has(text))
    showCount(
      `pairs at ${name}`,
      judge(carried, (text) => valueIn(answers.get(text)!)),
    )
  }
}

function valueIn(answer: Answer): unknown {
  // A message without a payload has no value.
  if ('value' in answer && answer.value !== undefined) return answer.value
  throw new Error('fault' in answer ? answer.fault : 'no payload')
}

function showCount(name: string, { right, fault, wrong, missed }: Count): void {
  const wrongs = smallest(missed.filter((miss) => miss.got !== undefined))
  for (const miss of wrongs) show(miss)
  const often = new Map<string, number>()
  for (const { kind } of wrongs) often.set(kind, (often.get(kind) ?? 0) + 1)
  for (const [pair, times] of [...often].sort((one, two) => one[1] - two[1]))
    console.log(`${times} × ${pair}`)
  console.log(`\n${right + fault + wrong} ${name}: ${right} right, ${fault} faults, ${wrong} WRONG`)
}

/** Wrong ones before faults, small ones before large ones. */
function smallest(misses: readonly Miss[]): Miss[] {
  const weight = ({ got, text }: Miss) => (got === undefined ? 1e9 : 0) + text.length
  return [...misses].sort((one, two) => weight(one) - weight(two))
}

function show({ kind, seed, original, text, got }: Miss): void {
  console.log(`\n${got === undefined ? 'fault' : 'WRONG'}: ${kind} (seed ${seed})`)
  console.log(`  original: ${JSON.stringify(original)}`)
  console.log(`  text:     ${JSON.stringify(text)}`)
  if (got !== undefined) console.log(`  got:      ${JSON.stringify(got)}`)
  else console.log(`  fault:    ${faultOf(text)}`)
}

function faultOf(text: string): string {
  try {
    ours.parse(text)
    return 'none'
  } catch (error) {
    return String(error)
  }
}
