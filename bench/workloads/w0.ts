import { jsonrepair } from 'jsonrepair'
import { parse as partial } from 'partial-json'
import { document } from '../make.ts'
import { answerTo, type Candidate, type Scene, type Workload } from '../measure.ts'
import { product } from '../product.ts'

const OURS = 'tryParse()'
const PARSE = 'JSON.parse'

export const w0: Workload = {
  id: 'W0',
  title: 'one text',
  input: 'a text that is one value, valid or with one comma too many, again and again',
  async *scenes(quick) {
    for (const { size, times, ofParse } of TEXTS) {
      const value = size === '7 B' ? { a: 1 } : document(size === '4 KB' ? 4000 : 60_000)
      const text = JSON.stringify(value)
      const calls = quick ? Math.ceil(times / 4) : times
      const valid = await scene(`${size}, valid`, text, value, calls)
      yield { ...valid, goals: [{ ours: OURS, against: PARSE, atLeast: ofParse }] }
      const broken = await scene(`${size}, a trailing comma`, `${text.slice(0, -1)},}`, value, calls, text)
      yield { ...broken, goals: [{ ours: OURS, against: 'jsonrepair', atLeast: 1.5 }] }
    }
    for (const [name, text] of WRAPPED) {
      const wrapped = await scene(name, text, { a: 1 }, quick ? 500 : 2000, '{"a":1}')
      // What jsonrepair makes of a tag is another value.
      const goals = name.includes('tag') ? [] : [{ ours: OURS, against: 'jsonrepair', atLeast: 1 }]
      yield { ...wrapped, goals }
    }
  },
}

/** How often each is read in one run, and which share of JSON.parse a valid one must reach. */
const TEXTS = [
  { size: '7 B', times: 2000, ofParse: 0.3 },
  { size: '4 KB', times: 100, ofParse: 0.4 },
  { size: '60 KB', times: 8, ofParse: 0.5 },
] as const

/** A small object with something around it, as models write it. */
const WRAPPED = [
  ['7 B, blanks around it', '\n{"a":1}\n'],
  ['7 B, in a json fence', '```json\n{"a":1}\n```\n'],
  ['7 B, in a tag', '<json>{"a":1}</json>'],
] as const

async function scene(
  name: string,
  text: string,
  value: unknown,
  calls: number,
  whole = text,
): Promise<Scene> {
  const readers: (readonly [string, Candidate['role'], (text: string) => unknown])[] = [
    [OURS, 'ours', ours],
    ['jsonrepair', 'peer', (broken) => JSON.parse(jsonrepair(broken))],
    ['partial-json', 'peer', partial],
    [PARSE, 'limit', () => JSON.parse(whole)],
  ]
  return {
    name,
    bytes: calls * Buffer.byteLength(text),
    expected: await answerTo(Array.from({ length: calls }, () => value)),
    unit: 'thousands',
    candidates: readers.map(([name, role, read]) => ({
      name,
      role,
      run(visit) {
        for (let call = 0; call < calls; call++) visit(read(text))
      },
    })),
  }
}

function ours(text: string): unknown {
  const outcome = product.tryParse(text)
  return outcome.ok ? outcome.value : undefined
}
