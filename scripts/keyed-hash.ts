// Assembles the hash of src/base/wasm.ts: npx tsx scripts/keyed-hash.ts prints it in base64. A test
// compares the two.
import { constant, get, I32, I64, longConstant, moduleOf, set } from './wasm.ts'

// The parameter, the length of the data, then the locals.
const [LENGTH, AT, END, V0, V1, V2, V3, WORD] = [0, 1, 2, 3, 4, 5, 6, 7]
/** Layout of the memory: 16 bytes of result, 16 of key, then the data. */
const [ANSWER, KEY, DATA] = [0, 16, 32]

const ADD = [0x7c]
const XOR = [0x85]
const ROTATE = [0x89]
const load = (offset: number) => [0x29, 3, offset]
const store = (offset: number) => [0x37, 3, offset]

const add = (to: number, what: number) => [...get(to), ...get(what), ...ADD, ...set(to)]
const turn = (what: number, bits: number) => [
  ...get(what),
  ...longConstant(BigInt(bits)),
  ...ROTATE,
  ...set(what),
]
const mix = (to: number, what: number) => [...get(to), ...get(what), ...XOR, ...set(to)]
const mixConstant = (to: number, value: bigint) => [...get(to), ...longConstant(value), ...XOR, ...set(to)]

const round = [
  ...[...add(V0, V1), ...turn(V1, 13), ...mix(V1, V0), ...turn(V0, 32)],
  ...[...add(V2, V3), ...turn(V3, 16), ...mix(V3, V2)],
  ...[...add(V0, V3), ...turn(V3, 21), ...mix(V3, V0)],
  ...[...add(V2, V1), ...turn(V1, 17), ...mix(V1, V2), ...turn(V2, 32)],
]
const takeWord = [...mix(V3, WORD), ...round, ...round, ...mix(V0, WORD)]
const fourRounds = [...round, ...round, ...round, ...round]
const start = (local: number, offset: number, value: bigint) => [
  ...[...constant(0), ...load(KEY + offset), ...longConstant(value), ...XOR, ...set(local)],
]
const answer = (offset: number) => [
  ...[...constant(0), ...get(V0), ...get(V1), ...XOR, ...get(V2), ...XOR, ...get(V3), ...XOR],
  ...store(ANSWER + offset),
]

/** `hash(length)`: SipHash-2-4 with 128 bits. Eight zeros must follow the data. */
const hash = [
  ...start(V0, 0, 0x736f6d6570736575n),
  ...start(V1, 8, 0x646f72616e646f6dn ^ 0xeen),
  ...start(V2, 0, 0x6c7967656e657261n),
  ...start(V3, 8, 0x7465646279746573n),
  // The whole words.
  ...[...get(LENGTH), ...constant(-8), 0x71, ...set(END)],
  ...[0x02, 0x40, 0x03, 0x40],
  ...[...get(AT), ...get(END), 0x4e, 0x0d, 1],
  ...[...get(AT), ...load(DATA), ...set(WORD), ...takeWord],
  ...[...get(AT), ...constant(8), 0x6a, ...set(AT), 0x0c, 0],
  ...[0x0b, 0x0b],
  // The rest of the bytes, and the length in the highest one.
  ...[
    ...get(AT),
    ...load(DATA),
    ...get(LENGTH),
    0xad,
    ...longConstant(56n),
    0x86,
    0x84,
    ...set(WORD),
    ...takeWord,
  ],
  ...[...mixConstant(V2, 0xeen), ...fourRounds, ...answer(0)],
  ...[...mixConstant(V1, 0xddn), ...fourRounds, ...answer(8)],
]

/** The module. Two pages: the data, and what is before and after it. */
export function hashModule(): Uint8Array {
  const locals = [
    [2, I32],
    [5, I64],
  ] as const
  return moduleOf({ name: 'hash', takes: [I32], answers: [], locals, code: hash }, 2)
}

if (import.meta.url === `file://${process.argv[1]}`) console.log(Buffer.from(hashModule()).toString('base64'))
