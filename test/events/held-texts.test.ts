import { expect, test } from 'vitest'
import { Drafts, OpenMessages } from '../../src/events/folds/messages.ts'
import type { Moment, Position } from '../../src/events/position.ts'
import { PtyOrder } from '../../src/events/pty-order.ts'
import { Fifo, Outstanding } from '../../src/events/same-record.ts'

const when = (nth: number): Moment => ({ at: { channel: 'stdout', after: 0, behind: -1 }, nth })

/** Open messages that tell what was closed. */
function messages(maxFrame: number) {
  const open = new OpenMessages(maxFrame)
  const closed: string[] = []
  const add = (id: string, text: string, to = 1, place = true) => {
    const range = place ? { channel: 'stdout' as const, from: 0, to } : undefined
    return open.add(id, { text, place: range, more: {}, when: when(1) }, (oldest) => {
      closed.push(oldest)
      open.take(oldest)
    })
  }
  const textOf = (id: string) => open.take(id)?.parts.join('')
  return { open, closed, add, textOf }
}

test('a message is cut where it would grow past maxFrame, each piece counting 8 more', () => {
  const rows: [pieces: string[], cuts: boolean[], text: string][] = [
    [['x'.repeat(12)], [false], 'x'.repeat(12)],
    [['x'.repeat(13)], [true], 'x'.repeat(12)],
    [['x'.repeat(12), 'y', 'z'], [false, true, false], 'x'.repeat(12)],
    [['xx', 'yy'], [false, false], 'xxyy'],
    [['xx', 'yyy'], [false, true], 'xxyy'],
    // Half a surrogate pair is left out.
    [[`${'x'.repeat(11)}😀`], [true], 'x'.repeat(11)],
    [[`${'x'.repeat(10)}😀`], [false], `${'x'.repeat(10)}😀`],
    [[`${'x'.repeat(10)}😀z`], [true], `${'x'.repeat(10)}😀`],
  ]
  for (const [pieces, cuts, text] of rows) {
    const { add, textOf } = messages(20)
    expect([pieces, pieces.map((piece) => add('a', piece)), textOf('a')]).toEqual([pieces, cuts, text])
  }
})

test('the oldest messages are closed when all together would grow past maxFrame', () => {
  const rows: [pieces: [string, string][], closed: string][] = [
    // The id and 8 count, too: 1 + 8, and 1 + 8 + 2.
    [
      [
        ['a', ''],
        ['b', 'xx'],
      ],
      '',
    ],
    [
      [
        ['a', ''],
        ['b', 'xxx'],
      ],
      'a',
    ],
    [
      [
        ['a', ''],
        ['b', ''],
        ['c', 'xx'],
      ],
      'a',
    ],
    [
      [
        ['a', ''],
        ['b', ''],
        ['c', 'xxx'],
      ],
      'ab',
    ],
    [
      [
        ['a', ''],
        ['b', ''],
        ['a', 'x'],
      ],
      'b',
    ],
  ]
  for (const [pieces, expected] of rows) {
    const { add, closed } = messages(20)
    for (const [id, text] of pieces) add(id, text)
    expect([pieces, closed.join('')]).toEqual([pieces, expected])
  }
  const { add, closed, textOf } = messages(20)
  add('a', '')
  textOf('a')
  add('b', 'x'.repeat(11))
  expect(closed).toEqual([])
})

test('4,096 messages may be open', () => {
  const { add, closed } = messages(1 << 20)
  for (let n = 0; n < 4096; n++) add(`m${n}`, 'x')
  expect(closed).toEqual([])
  add('more', 'x')
  expect(closed).toEqual(['m0'])
})

test('the range of a message reaches to its last piece that has one', () => {
  const { add, open } = messages(100)
  add('a', 'x', 5)
  add('a', 'y', 9)
  add('a', 'z', 0, false)
  expect(open.take('a')).toMatchObject({ range: { from: 0, to: 9 }, parts: ['x', 'y', 'z'] })
  add('b', 'x', 0, false)
  add('b', 'y', 9)
  expect(open.take('b')).toMatchObject({ range: undefined })
})

test('drafts are held up to a size and a number, the last one whatever its size', () => {
  const held = (sizes: readonly number[], forget?: number, more: readonly number[] = []) => {
    const drafts = new Drafts(10)
    const hold = (size: number, nth: number) =>
      drafts.hold({ text: 'x'.repeat(size), enveloped: false, done: false, when: when(nth) })
    for (const [nth, size] of sizes.entries()) hold(size, nth)
    if (forget !== undefined) drafts.forget(when(forget))
    for (const [nth, size] of more.entries()) hold(size, sizes.length + nth)
    return drafts.left().map(({ text }) => text.length)
  }
  expect(held([5, 5])).toEqual([5, 5])
  expect(held([5, 6])).toEqual([6])
  expect(held([5, 20])).toEqual([20])
  expect(held([20, 1])).toEqual([1])
  expect(held([1, 2, 9])).toEqual([9])
  expect(held(Array(64).fill(0))).toHaveLength(64)
  expect(held([...Array(64).fill(0), 1])).toEqual([...Array(63).fill(0), 1])
  // A whole message at this moment replaces what broke off before it.
  expect(held([5], 0.5)).toEqual([])
  expect(held([3, 4], 0.5, [6])).toEqual([4, 6])
  expect(held([3, 4], 0.5, [7])).toEqual([7])
  expect(held([3, 4], 1.5, [10])).toEqual([10])
})

test('drafts come in the order of the run, not of their arrival', () => {
  const drafts = new Drafts(100)
  for (const nth of [2, 3, 1])
    drafts.hold({ text: String(nth), enveloped: false, done: false, when: when(nth) })
  expect(drafts.left().map(({ text }) => text)).toEqual(['1', '2', '3'])
})

test('a Fifo counts what is left, also after a thousand gaps', () => {
  const fifo = new Fifo<number>()
  const numbers = Array.from({ length: 5000 }, (_, n) => n)
  for (const n of numbers) fifo.push(n)
  const shifted = numbers.slice(0, 4000).map(() => [fifo.length, fifo.first(), fifo.shift()])
  expect(shifted).toEqual(numbers.slice(0, 4000).map((n) => [5000 - n, n, n]))
  fifo.push(5000)
  expect([fifo.length, fifo.shift()]).toEqual([1001, 4000])
  expect(
    numbers
      .slice(0, 1000)
      .map(() => fifo.shift())
      .at(-1),
  ).toBe(5000)
  expect([fifo.length, fifo.first(), fifo.shift(), fifo.length]).toEqual([0, undefined, undefined, 0])
})

const at = (after: number): Position => ({ channel: 'stdout', after, behind: -1 })

test('equal records that wait keep their order, the positions of as many as the window has room for', () => {
  /** Adds records `a0 a1 b2`, takes those marked with `-`, and returns the positions of what was taken. */
  const taken = (window: number, steps: string) => {
    const waiting = new Outstanding(window)
    const positions: (number | undefined)[] = []
    for (const [index, step] of steps.split(' ').entries()) {
      if (step.startsWith('-')) positions.push(waiting.take(step[1]!)?.after)
      else waiting.add(step, at(index))
    }
    return [positions, ['a', 'b'].map((key) => waiting.count(key)), waiting.forgotten]
  }
  expect(taken(9, 'a b a -a -b -a -a')).toEqual([[0, 1, 2, undefined], [0, 0], 0])
  // -1 is a position before all others: one that was not kept.
  expect(taken(2, 'a a a a -a -a -a')).toEqual([[0, 1, -1], [1, 0], 0])
  expect(taken(2, 'a a a -a -a -a -a')).toEqual([[0, 1, -1, undefined], [0, 0], 0])
  expect(taken(2, 'a a a a')).toEqual([[], [4, 0], 0])
  expect(taken(1, 'a a -a -a')).toEqual([[0, -1], [0, 0], 0])
  // No newer one gets before those whose positions were not kept.
  expect(taken(2, 'a a a -a a -a -a -a')).toEqual([[0, 1, -1, -1], [0, 0], 0])
  expect(taken(1, 'a b b -a -b -b')).toEqual([[undefined, 1, -1], [0, 0], 1])
  expect(new Outstanding(1).take('a')).toBe(undefined)
  const both = new Outstanding(1)
  both.add('a', at(0))
  both.add('a', at(1))
  expect([both.take('a'), both.take('a')]).toEqual([at(0), { channel: 'stdout', after: -1, behind: -1 }])
})

test('records that only the PTY has get their places when stdout catches up, as many as the window holds', () => {
  for (const [window, places] of [
    [2, [0, 0]],
    [1, [-1, 0]],
  ] as const) {
    const order = new PtyOrder(window, () => undefined)
    expect(order.shown).toBe(-1)
    const ahead = [order.position(1, false), order.position(2, false)]
    order.write(0, 0, 'a')
    order.write(3, 1, 'b')
    expect([ahead.map(({ after }) => after), order.shown]).toEqual([places, 1])
    const [first] = ahead
    first!.become(7)
    order.end()
    expect([first!.after, first!.behind]).toEqual([7, -1])
  }
})
