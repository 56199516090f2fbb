import { expect, test } from 'vitest'
import { EscapeRemover } from '../../src/text/ansi.ts'
import type { Channel } from '../../src/text/chunk.ts'
import { clean } from '../frames/reference-clean.ts'
import { some } from '../pace.ts'

function cleaned(bytes: Buffer, channel: Channel): { kept: string; dropped: number } {
  const kept: Buffer[] = []
  let dropped = 0
  const remover = new EscapeRemover(channel, {
    keep: (part) => void kept.push(Buffer.from(part)),
    drop: (_, from, to) => {
      dropped += to - from
    },
  })
  remover.write(bytes)
  remover.end()
  return { kept: Buffer.concat(kept).toString('latin1'), dropped }
}

/** The first and the last byte of every class that a sequence is made of, and their neighbours. */
const edges = [
  0x07, 0x0a, 0x18, 0x1a, 0x1b, 0x1f, 0x20, 0x2f, 0x30, 0x3f, 0x40, 0x50, 0x58, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f,
  0x7e, 0x7f, 0x80, 0x84, 0x85, 0x90, 0x98, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xc2, 0xc3,
]

test.each([
  ['ESC', [0x1b]],
  ['a CSI', [0x1b, 0x5b]],
  ['an OSC', [0x1b, 0x5d]],
  ['a C1 control', [0xc2]],
  ['a C1 CSI', [0xc2, 0x9b]],
  ['a C1 OSC', [0xc2, 0x9d]],
])('%s and any three bytes at the edge of a class: what is kept is what the reference keeps', (_, opener) => {
  for (const a of some(edges)) {
    for (const b of edges) {
      for (const c of edges) {
        const bytes = Buffer.from([0x78, ...opener, a, b, c, 0x79])
        const channel = c % 2 === 0 ? 'pty' : 'stdout'
        const found = cleaned(bytes, channel)
        const wanted = Buffer.from(clean(bytes, channel).bytes).toString('latin1')
        if (found.kept !== wanted) expect([...bytes, found.kept]).toEqual([...bytes, wanted])
        if (found.kept.length + found.dropped !== bytes.length) expect(found).toEqual({ bytes: [...bytes] })
      }
    }
  }
})

test.each(['\u001b[', '\u001b]', '\u001b ', '\u009b', '\u009d'])(
  'a sequence that begins with %j is given up where the reference gives it up',
  (opener) => {
    for (let length = 4090; length < 4100; length++) {
      for (const end of ['m', '\u0007', '\u001b\\', '\u009c', '']) {
        const filler = opener.endsWith(' ') ? ' ' : '1'
        const bytes = Buffer.from(`${opener}${filler.repeat(length)}${end}x`)
        for (const channel of ['pty', 'stdout'] as const)
          expect(cleaned(bytes, channel).kept).toBe(clean(bytes, channel).bytes.toString('latin1'))
      }
    }
  },
)
