import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Dedupe } from '../../src/events/dedupe.ts'
import type { EngineFrame } from '../../src/events/engine.ts'
import { isAfter, type Moment } from '../../src/events/position.ts'
import type { OutputChannel } from '../../src/text/chunk.ts'

const hash = (text: string | Uint8Array) => createHash('sha256').update(text).digest('base64url').slice(0, 22)

function pairing(window = 100, maxHeld = 1 << 20, digest = hash) {
  const passed: string[] = []
  const floor = new Dedupe({
    hash: digest,
    window,
    maxHeld,
    pass: (frame, how) =>
      void passed.push(`${frame.channel}:${frame.text}${how === 'first' ? '' : ` ${how}`}`),
  })
  const put = (channel: OutputChannel, text: string, record = true) => {
    floor.saw(channel, Buffer.from(text))
    const frame: EngineFrame = {
      kind: 'line',
      channel,
      from: 0,
      to: 1,
      text,
      ...(record && { value: { text } }),
    }
    floor.admit(frame)
  }
  return { floor, put, passed }
}

describe('twins on stdout and PTY', () => {
  test('are one, whichever channel comes first', () => {
    const { floor, put, passed } = pairing()
    put('stdout', 'a')
    put('pty', 'a')
    put('pty', 'b')
    put('stdout', 'b')
    floor.end()
    expect(passed).toEqual(['stdout:a', 'stdout:b'])
    expect(floor.counts()).toEqual({ paired: 2, forgotten: 0, held: 0 })
  })

  test('keep two equal records of one channel apart', () => {
    const { floor, put, passed } = pairing()
    for (const channel of ['stdout', 'stdout', 'pty', 'pty', 'pty'] as const) put(channel, 'ok')
    floor.end()
    expect(passed).toEqual(['stdout:ok', 'stdout:ok', 'pty:ok pty-only'])
  })

  test('give back a PTY record, in its place, when a later one pairs', () => {
    const { floor, put, passed } = pairing()
    floor.announce(['stdout', 'pty'])
    for (const text of ['a', 'lost', 'b', 'c']) put('pty', text)
    put('stdout', 'a')
    put('stdout', 'b')
    expect(passed).toEqual(['stdout:a', 'pty:lost pty-only', 'stdout:b'])
    put('stdout', 'c')
    floor.end()
    expect(passed.at(-1)).toBe('stdout:c')
  })

  test('let the PTY speak at once where there is no stdout, and stdout be silent if it comes late', () => {
    const { floor, put, passed } = pairing()
    put('pty', 'a')
    put('pty', 'b')
    expect(passed).toEqual(['pty:a', 'pty:b'])
    put('stdout', 'b')
    put('stdout', 'c')
    floor.end()
    expect(passed).toEqual(['pty:a', 'pty:b', 'stdout:c'])
  })

  test('pair plain PTY lines with stderr too, however late', () => {
    const { floor, put, passed } = pairing()
    floor.announce(['stdout', 'stderr', 'pty'])
    put('pty', 'log', false)
    put('pty', 'a')
    put('stdout', 'a')
    put('stderr', 'log', false)
    put('pty', 'echo', false)
    floor.end()
    expect(passed).toEqual(['stdout:a', 'stderr:log', 'pty:echo pty-only'])
  })

  test('let stderr claim a record of the PTY, until a later one of stderr pairs', () => {
    const { floor, put, passed } = pairing()
    floor.announce(['stdout', 'stderr', 'pty'])
    for (const text of ['forged', 'a', 'lost', 'log', 'b']) put('pty', text)
    put('stdout', 'a')
    expect(passed).toEqual(['stdout:a'])
    put('stderr', 'forged')
    put('stderr', 'log')
    put('stdout', 'b')
    expect(passed).toEqual(['stdout:a', 'stderr:forged', 'stderr:log', 'pty:lost pty-only', 'stdout:b'])
    floor.end()
    expect(passed).toHaveLength(5)
  })

  test('are not confused by content that looks like two records', () => {
    const { floor, put, passed } = pairing()
    put('stdout', 'a|b')
    put('pty', 'a')
    put('pty', 'b')
    floor.end()
    expect(passed).toEqual(['stdout:a|b', 'pty:a pty-only', 'pty:b pty-only'])
  })
})

/**
 * Records as they arrive, `o:a` of stdout, `p:b` of the PTY, `e:c` of stderr (`p.b` is a plain line, `p_` a
 * blank one), and the order of the run that they are given.
 */
function orderOf(steps: string, channels: readonly OutputChannel[], window = 100): string {
  const passed: { readonly name: string; readonly when: Moment }[] = []
  const floor = new Dedupe({
    hash,
    window,
    maxHeld: 1 << 20,
    pass: (frame, _, at) =>
      void passed.push({ name: frame.blank ? '_' : frame.text, when: { at, nth: passed.length } }),
  })
  if (channels.length > 0) floor.announce(channels)
  for (const step of steps.split(' ')) {
    const channel = ({ o: 'stdout', e: 'stderr', p: 'pty' } as const)[step[0]!]!
    const text = step.slice(2)
    floor.saw(channel, Buffer.from(text))
    const kind = { kind: 'line' as const, channel, from: 0, to: 1, text }
    if (step[1] === '_') floor.admit({ ...kind, blank: true })
    else floor.admit(step[1] === ':' ? { ...kind, value: text } : kind)
  }
  floor.end()
  const sorted = passed.sort((a, b) => (isAfter(a.when, b.when) ? 1 : -1))
  return sorted.flatMap(({ name }, at) => (name === '=' && at < sorted.length - 1 ? [] : [name])).join(' ')
}

test('records come in the order of stdout, those that only the PTY has after what it showed before them', () => {
  const both = ['stdout', 'pty'] as const
  const all = ['stdout', 'stderr', 'pty'] as const
  const rows: [steps: string, order: string, channels?: readonly OutputChannel[]][] = [
    ['o:a o:b', 'a b'],
    ['p:a p:b', 'a b', []],
    // stdout lost a record.
    ['p:a p:x p:b o:a o:b', 'a x b'],
    ['o:a o:b p:a p:x p:b', 'a x b'],
    ['o:a p:x p:y p:a o:b p:b', 'x y a b'],
    ['p:x o:a p:a o:b p:b', 'x a b'],
    ['p:a p:x o:a', 'a x'],
    // The PTY lost one, or came first without an announcement.
    ['o:a o:x o:b p:a p:b', 'a x b'],
    ['p:x o:w o:a o:x', 'w a x', []],
    ['p:a o:b o:a', 'b a', []],
    // Equal ones, left out here unless they are last, do not put others out of order.
    ['o:w o:= p:= p:w p:= p:x', 'w x'],
    ['p:= p:w o:w p:x', 'w x'],
    ['o:= o:= p:= p:= p:w', 'w', []],
    ['o:= o:w p:= p:= o:= o:= p:w p:= p:= p:x', 'w x'],
    ['p:= p:w p:x p:= p:y o:w o:x o:=', 'w x y'],
    // What stderr wrote comes after the records before it.
    ['o:a e:x o:b', 'a x b', all],
    ['e:x o:a', 'x a', all],
    // A blank line comes with the record before it; that of the PTY only if there is no stdout.
    ['o:a o_ o:b', 'a _ b'],
    ['o_ o:a', '_ a'],
    ['p:a p_ p:b', 'a _ b', []],
    ['p_ p:a', '_ a', ['pty']],
    ['o:a p_ p:a', 'a'],
    ['o:a e_ o:b', 'a _ b', all],
  ]
  for (const [steps, order, channels] of rows)
    expect([steps, orderOf(steps, channels ?? both)]).toEqual([steps, order])
  // The window has room for the positions of both.
  expect(orderOf('o:= o:= p:= p:= p:w', both, 2)).toBe('w')
})

test('records that only the PTY has say where a run of them begins and ends', () => {
  const rows: [steps: string, passed: string][] = [
    ['p:x p:y p:b o:b', '[x y] b'],
    ['p:a p:x p:b o:a o:b', 'a [x] b'],
    ['p:b p:b o:b', 'b [b'],
    ['o:a p:x p:y p:a', 'a [x y]'],
    ['p:x p.log p:y', '[x log y'],
    ['p.log p:x', 'log [x'],
  ]
  for (const [steps, expected] of rows) {
    const passed: string[] = []
    const pass = ({ text, extra }: EngineFrame) =>
      void passed.push(`${extra?.first ? '[' : ''}${text}${extra?.last ? ']' : ''}`)
    const floor = new Dedupe({ hash, window: 100, maxHeld: 1 << 20, pass })
    floor.announce(['stdout', 'pty'])
    for (const step of steps.split(' ')) {
      const frame = {
        kind: 'line',
        channel: step[0] === 'o' ? 'stdout' : 'pty',
        from: 0,
        to: 1,
        text: step.slice(2),
      } as const
      floor.admit(step[1] === ':' ? { ...frame, value: 1 } : frame)
    }
    floor.end()
    expect([steps, passed.join(' ')]).toEqual([steps, expected])
  }
})

test('thousands of records keep their order, also where stdout lost some', () => {
  const numbers = Array.from({ length: 2500 }, (_, n) => n)
  const steps = numbers.flatMap((n) => (n % 1000 === 999 ? [`p:${n}`] : [`o:${n}`, `p:${n}`]))
  expect(orderOf(steps.join(' '), ['stdout', 'pty'])).toBe(numbers.join(' '))
})

describe('a record that a terminal shows in lines', () => {
  const shown = (text: string): EngineFrame => ({
    kind: 'object',
    channel: 'pty',
    from: 0,
    to: 1,
    text,
    value: { text },
    pieces: text.split('\n'),
  })

  test('is the one that stdout has in one line', () => {
    const { floor, put, passed } = pairing()
    floor.announce(['stdout', 'pty'])
    put('stdout', '{"a":1}')
    floor.admit(shown('{"a":\n1}'))
    floor.end()
    expect(passed).toEqual(['stdout:{"a":1}'])
  })

  test.each(['stdout', 'stderr'] as const)('is none where %s has it in lines', (channel) => {
    const { floor, put, passed } = pairing()
    floor.announce(['stdout', 'stderr', 'pty'])
    floor.admit(shown('{\n"a":1\n}'))
    for (const line of ['{', '"a":1', '}']) put(channel, line, false)
    floor.end()
    expect(passed).toEqual([`${channel}:{`, `${channel}:"a":1`, `${channel}:}`])
    expect(floor.counts().held).toBe(0)
  })

  test('counts with its lines against what may wait', () => {
    const { floor, passed } = pairing(100, 10_000)
    floor.announce(['stdout', 'pty'])
    for (let n = 0; n < 3; n++) floor.admit(shown(`[\n${'1,\n'.repeat(99)}${n}]`))
    expect(passed.map((one) => one.slice(-4))).toEqual(['late', 'late'])
  })

  test('is one where an equal line is there only once', () => {
    const rows: [lines: string[], passed: string[]][] = [
      [['[', '1,', '1,', ']'], []],
      [['[', '1,', ']'], ['pty:[\n1,\n1,\n] pty-only']],
    ]
    for (const [lines, passed] of rows) {
      const pair = pairing()
      pair.floor.announce(['stdout', 'stderr', 'pty'])
      pair.floor.admit(shown('[\n1,\n1,\n]'))
      for (const line of lines) pair.put('stderr', line, false)
      pair.floor.end()
      expect(pair.passed.slice(lines.length)).toEqual(passed)
    }
  })

  test('is one where a line is missing there', () => {
    const { floor, put, passed } = pairing()
    floor.announce(['stdout', 'stderr', 'pty'])
    floor.admit(shown('{\n"a":1\n}'))
    for (const line of ['{', '"a":1']) put('stderr', line, false)
    floor.end()
    expect(passed).toEqual(['stderr:{', 'stderr:"a":1', 'pty:{\n"a":1\n} pty-only'])
  })
})

test('stderr and a PTY without stdout give a line once, whichever comes first', () => {
  for (const order of [['stderr', 'pty'] as const, ['pty', 'stderr'] as const]) {
    const { floor, put, passed } = pairing()
    floor.announce(['stderr', 'pty'])
    for (const channel of order) put(channel, 'log', false)
    floor.end()
    expect(passed).toEqual([`${order[0]}:log`])
  }
})

describe('the window', () => {
  test('bounds what is remembered, and says that a twin may be emitted again', () => {
    const { floor, put, passed } = pairing(4)
    for (let i = 0; i < 10; i++) put('stdout', `s${i}`)
    floor.saw('pty', Buffer.alloc(0))
    expect(floor.counts()).toMatchObject({ forgotten: 6, held: 4 })
    put('pty', 's0')
    floor.end()
    expect(passed.at(-1)).toBe('pty:s0 late')
  })

  test('bounds what waits, by records and by size', () => {
    const few = pairing(4)
    few.floor.announce(['stdout', 'pty'])
    for (let i = 0; i < 10; i++) few.put('pty', `p${i}`)
    // Four wait, and the digests of the last four that were let go are remembered.
    expect(few.floor.counts().held).toBe(8)
    expect(few.passed).toEqual([0, 1, 2, 3, 4, 5].map((i) => `pty:p${i} late`))
    const small = pairing(100, 10)
    small.floor.announce(['stdout', 'pty'])
    for (let i = 0; i < 4; i++) small.put('pty', 'xxxx')
    expect(small.passed).toEqual(['pty:xxxx late', 'pty:xxxx late'])
    const full = pairing(100, 8)
    full.floor.announce(['stdout', 'pty'])
    full.put('pty', 'xxxx', false)
    full.put('pty', 'yyyy')
    expect([full.passed, full.floor.counts().held]).toEqual([[], 2])
    full.put('pty', 'z')
    expect(full.passed).toEqual(['pty:xxxx late'])
  })

  test('counts what it forgot and holds of every channel', () => {
    for (const channel of ['stdout', 'stderr', 'pty'] as const) {
      const { floor, put } = pairing(1)
      put(channel, 'a')
      put(channel, 'b')
      floor.saw('pty', Buffer.alloc(0))
      expect([channel, floor.counts()]).toEqual([channel, { paired: 0, forgotten: 1, held: 1 }])
    }
  })

  test('hashes nothing before there is a PTY, but for what would take too much room', () => {
    let hashed = 0
    const counting: typeof hash = (text) => {
      hashed++
      return hash(text)
    }
    const { floor, put, passed } = pairing(65_536, undefined, counting)
    for (let i = 0; i < 100; i++) put('stdout', `s${i}`)
    expect(hashed).toBe(0)
    put('stderr', 'x'.repeat(1 << 22))
    expect(hashed).toBe(100)
    for (let i = 0; i < 100; i++) put('pty', `s${i}`)
    floor.end()
    expect(passed).toHaveLength(101)
    expect(floor.counts()).toMatchObject({ paired: 100, held: 1 })
  })

  test('has room for any number of equal records', () => {
    const { floor, put, passed } = pairing(2)
    for (let n = 0; n < 5; n++) put('stdout', 'a')
    for (let n = 0; n < 5; n++) put('pty', 'a')
    floor.end()
    expect(passed).toEqual(Array(5).fill('stdout:a'))
  })

  test('is not used when the channels are announced and there is no PTY', () => {
    const { floor, put } = pairing()
    floor.announce(['stdout', 'stderr'])
    put('stdout', 'a')
    put('stderr', 'b')
    expect(floor.counts().held).toBe(0)
  })
})

test('law Once: whatever the weaving, the kth record of one channel and the kth of the other are one', () => {
  const letters = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 })
  fc.assert(
    fc.property(
      letters,
      letters,
      fc.array(fc.boolean(), { minLength: 24, maxLength: 24 }),
      (out, pty, order) => {
        const { floor, put, passed } = pairing()
        floor.announce(['stdout', 'pty'])
        const rest = { stdout: [...out], pty: [...pty] }
        for (const first of order) {
          const channel = (first && rest.stdout.length > 0) || rest.pty.length === 0 ? 'stdout' : 'pty'
          const text = rest[channel].shift()
          if (text !== undefined) put(channel, text)
        }
        floor.end()
        const count = (list: readonly string[], letter: string) => list.filter((one) => one === letter).length
        for (const letter of ['a', 'b', 'c']) {
          const emitted = passed.filter((one) => one.split(' ')[0]!.endsWith(`:${letter}`)).length
          // The kth of one channel is the kth of the other.
          expect(emitted).toBe(Math.max(count(out, letter), count(pty, letter)))
        }
      },
    ),
  )
})

test('law Trust: whatever the weaving, what stderr has written never comes out as the PTY’s', () => {
  fc.assert(
    fc.property(
      fc.array(fc.boolean(), { maxLength: 12 }),
      fc.infiniteStream(fc.nat(2)),
      (fromStderr, order) => {
        const { floor, put, passed } = pairing()
        floor.announce(['stdout', 'stderr', 'pty'])
        const texts = fromStderr.map((forged, at) => `${forged ? 'forged' : 'said'}-${at}`)
        // The terminal shows both, as they were written.
        const rest: { channel: OutputChannel; texts: string[] }[] = [
          { channel: 'stdout', texts: texts.filter((text) => text.startsWith('said')) },
          { channel: 'stderr', texts: texts.filter((text) => text.startsWith('forged')) },
          { channel: 'pty', texts: [...texts] },
        ]
        for (let left = 2 * texts.length; left > 0; ) {
          const { channel, texts } = rest[order.next().value!]!
          const text = texts.shift()
          if (text === undefined) continue
          put(channel, text)
          left--
        }
        floor.end()
        const expected = texts.map((text) => `${text.startsWith('said') ? 'stdout' : 'stderr'}:${text}`)
        expect([...passed].sort()).toEqual(expected.sort())
      },
    ),
  )
})
