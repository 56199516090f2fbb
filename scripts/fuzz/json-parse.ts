import fc from 'fast-check'
import type { ValuesOptions } from '../../src/values/values.ts'
import { chunkSizes } from '../../test/frames/hostile.ts'
import { inSizes } from '../../test/frames/splits.ts'
import { outcomes } from './outcomes.ts'
import { same } from './same.ts'

/** Valid JSON in every spelling: with blanks, escapes for any character, numbers in any format. */
const jsonText = fc
  .tuple(
    fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }),
    fc.constantFrom(undefined, 1, '\t', ' \r'),
    fc.boolean(),
  )
  .map(([value, indent, ascii]) => {
    const text = JSON.stringify(value, null, indent)
    // To the scanner a raw C1 character is a control sequence, so it is written as an escape.
    const unsafe = ascii ? /[^ -~\s]/g : /[\u0080-\u009f]/g
    return text.replace(unsafe, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
  })

/** What JSON.parse accepts, we read as the same value, wherever it is. */
export const jsonParse = fc.property(
  jsonText,
  chunkSizes,
  fc.constantFrom('', ' ', '\n'),
  (text, sizes, blank) => {
    const value = JSON.parse(text)
    const asked = { root: 'any', protoKeys: 'keep' } as const
    const check = (input: string, options: ValuesOptions, what: string) => {
      const found = outcomes(inSizes(Buffer.from(input), sizes), options).map((outcome) => {
        const { ok, value, repair_level } = outcome as { ok: boolean; value?: unknown; repair_level: string }
        return ok ? { value, repair_level } : outcome
      })
      same(found, [{ value, repair_level: 'none' }], what)
    }
    check(blank + text + blank, asked, 'the whole input')
    if (text[0] !== '{' && text[0] !== '[') return
    check(`a <json>${blank}${text}${blank}</json> b`, { ...asked, tag: 'json' }, 'a tag block')
    if (!text.includes('\n')) check(`a\n${text}\nb\n`, { ...asked, lines: true }, 'a line')
  },
)
