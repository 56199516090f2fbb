import fc from 'fast-check'
import type { CutOptions } from './reference.ts'

type Token = string | readonly number[]

/** What hostile inputs are made of, by subject: neighbours of one subject are where rules meet. */
const subjects: Record<string, readonly Token[]> = {
  tags: ['<json>', '<json>', '</json>', '</json>', '"', '"', '\\', '\n', '{', ' ', 'x', '<out>', '</out>'],
  payload: ['<json>', '</json>', '{"a":1}', '{', '"', ' ', '\n', '`', '```', '~~~', '<', 'word'],
  fences: [
    '```',
    '```',
    '````',
    '~~~',
    '`',
    '\n',
    '\n',
    '\r\n',
    ' ',
    '   ',
    '> ',
    '>',
    '- ',
    '1. ',
    'x',
    'json',
  ],
  quotes: ['> ```\n', '> ', '>', ' ', '\n', '```', 'x', '{"a":1}', '- ', '   > '],
  lines: [
    '{',
    '}',
    '[',
    ']',
    '\n',
    '\n',
    '\r\n',
    '\r',
    ' ',
    '\0',
    '\ufeff',
    '"',
    '{"a":1}',
    '{"a":1}\n',
    'x',
  ],
  objects: [
    '{',
    '{"',
    '}',
    '[',
    ']',
    '[{',
    '"',
    '"',
    '\\',
    '\n',
    ' ',
    ':',
    ',',
    'a',
    "'",
    '<json>',
    '```',
    '/',
    '-1',
  ],
  think: [
    '<think>',
    '\n<think>',
    '</think>',
    '<thinking>',
    '</thinking>',
    '{"a":1}',
    '{',
    '\n',
    ' ',
    'x',
    '<json>',
  ],
  escapes: [
    '\x1b[31m',
    '\x1b[',
    '\x1b]0;t\x07',
    '\x1b]0;',
    '\x1b\\',
    '\x1b',
    '\x1b(B',
    '\x1b(',
    '\x1bP',
    '\x07',
    [0xc2, 0x9b],
    [0xc2, 0x9d],
    [0xc2, 0x9c],
    [0xc2, 0x85],
    [0xc2, 0x84],
    [0xc2],
    [0x9b],
    '{"a":1}',
    '\n',
    '{',
    'm',
    '"',
  ],
  bytes: [
    '\ufeff',
    [0xef, 0xbb],
    '\0',
    'é',
    '€',
    '😀',
    [0xff],
    [0xe2, 0x82],
    [0xf0, 0x9f],
    '\u2028',
    '{"',
    '}',
    '\n',
  ],
  scalars: ['"', '\\', '12', 'true', '-1.5', ' ', '\n', '{"a":1}', '\ufeff', '<think>x</think>', 'x'],
}

const everything = Object.values(subjects).flat()

function madeOf(tokens: readonly Token[]): fc.Arbitrary<Buffer> {
  return fc
    .array(fc.constantFrom(...tokens), { maxLength: 28, size: 'max' })
    .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part as string))))
}

/** Noise of one subject, of two, or of all. */
export const hostileBytes: fc.Arbitrary<Buffer> = fc.oneof(
  ...Object.values(subjects).map(madeOf),
  fc
    .tuple(fc.constantFrom(...Object.values(subjects)), fc.constantFrom(...Object.values(subjects)))
    .chain(([one, two]) => madeOf([...one, ...two])),
  madeOf(everything),
)

const switches: readonly CutOptions[] = [
  {},
  { lines: false },
  { objects: false },
  { fences: false },
  { think: false },
  { tags: [] },
  { tags: ['json', 'out'] },
  { tags: [], fences: false, objects: false, think: false },
  { fences: false, lines: false, objects: false, think: false },
  { tags: [], lines: false, objects: false, think: false },
  { tags: [], fences: false, lines: false, think: false },
  { lines: false, needsPayload: true },
  { needsPayload: true, fences: false },
  { lines: false, loose: true, needsPayload: true },
  { lines: false, needsPayload: true, document: 'object' },
  { lines: false, needsPayload: true, document: 'any' },
  { lines: false, needsPayload: true, loose: true, document: 'any' },
  { text: false },
]

/** Every kind of frame on and off, and limits that bite as well as one that does not. */
export const cutOptions: fc.Arbitrary<CutOptions> = fc
  .record({
    base: fc.constantFrom(...switches),
    maxFrame: fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 64 })),
  })
  .map(({ base, maxFrame }) => (maxFrame === undefined ? base : { ...base, maxFrame }))

/** Sizes of the chunks, over and over; empty ones too. */
export const chunkSizes = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 5 })
