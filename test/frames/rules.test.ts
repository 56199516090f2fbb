import { describe, expect, test } from 'vitest'
import { type Code, codes } from '../../src/base/fault.ts'
import { some } from '../pace.ts'
import { type CutFrame, referenceFrames } from './reference.ts'
import {
  documentRules,
  escapeRules,
  fenceRules,
  limitRules,
  lineRules,
  objectRules,
  proseFenceRules,
  type Rule,
  tagRules,
  textRules,
  thinkRules,
} from './rules.ts'
import { brief, manyWays, scan, tilingFault, toBytes } from './splits.ts'

const chapters: Record<string, readonly Rule[]> = {
  lines: lineRules,
  tags: tagRules,
  think: thinkRules,
  fences: fenceRules,
  'fences that are read': proseFenceRules,
  objects: objectRules,
  limits: limitRules,
  escapes: escapeRules,
  text: textRules,
  document: documentRules,
}

describe('the reference and the scanner keep the rules on', () => {
  test.for(Object.entries(chapters))('%s', ([, rules]) => {
    for (const rule of rules) {
      const { input, expected } = read(rule)
      const wanted = expected.map(brief)
      expect(tilingFault(expected, input.length), `the row "${rule.says}"`).toBe(undefined)
      expect(referenceFrames(input, rule.options).map(brief), `the reference: ${rule.says}`).toEqual(wanted)
      for (const pieces of some([...manyWays(input)])) {
        const sizes = pieces.map((piece) => piece.length).join(' ')
        expect(scan(pieces, rule.options).map(brief), `${rule.says}, cut in ${sizes}`).toEqual(wanted)
      }
    }
  })
})

/** The frames that a row describes, and the input they tile. */
function read(rule: Rule): { input: Buffer; expected: CutFrame[] } {
  let at = 0
  const expected = rule.expect.map(([what, source, text]): CutFrame => {
    const from = at
    at += toBytes(source).length
    return { ...readWhat(what), channel: 'stdout', from, to: at, text: text ?? toBytes(source).toString() }
  })
  return { input: Buffer.concat(rule.expect.map(([, source]) => toBytes(source))), expected }
}

/** `'fence json title=x open !INVALID_UTF8@3'` in the words of a frame. */
function readWhat(what: string): Omit<CutFrame, 'channel' | 'from' | 'to' | 'text'> {
  const words = what.split(' ')
  const kind = words.shift() as CutFrame['kind'] | 'blank'
  const notes = words.filter((word) => word.startsWith('!')).map(readNote)
  const open = words.includes('open')
  const first = words.includes('first')
  const attached = words.includes('attached')
  const aside = words.includes('aside')
  const in_fence = words.includes('in_fence')
  const broken = words.find((word) => word.startsWith('broken@'))
  const label = words
    .filter((word) => !/^(?:!.*|open|first|attached|aside|in_fence|broken@.*)$/.test(word))
    .join(' ')
  return {
    kind: kind === 'blank' ? 'text' : kind,
    ...(kind === 'blank' && { blank: true }),
    ...(label && { label }),
    ...(open && { open }),
    ...(first && { first }),
    ...(attached && { attached }),
    ...(aside && { aside }),
    ...(in_fence && { in_fence }),
    ...(broken !== undefined && { broken: Number(broken.slice('broken@'.length)) }),
    notes,
  }
}

function readNote(word: string): NonNullable<CutFrame['notes']>[number] {
  const [code, at] = word.slice(1).split('@')
  if (!isCode(code)) throw new Error(word)
  return { code, message: '', ...(at !== undefined && { at: Number(at) }) }
}

function isCode(word: string | undefined): word is Code {
  return word !== undefined && word in codes
}
