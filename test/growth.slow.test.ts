import { describe, expect, test } from 'vitest'
import { expectLinear } from './growth.ts'

/** A walk over the text for every one of its characters. */
const loops = (size: number) => () => {
  let sum = 0
  for (let i = 0; i < size; i++) for (let j = 0; j < i; j++) sum += j
  return sum
}

/** The same in native code, which no step counter sees: every search runs to the end of the text. */
const searches = (size: number) => {
  const text = 'a'.repeat(size)
  return () => {
    let found = 0
    for (let at = 0; at < size; at++) found += text.indexOf('b', at)
    return found
  }
}

const backtracking = (size: number) => {
  const text = ' '.repeat(size)
  return () => / +x/.test(text)
}

/** What a stage does that keeps `rest + chunk` and looks through all of it again. */
const rescans = (size: number) => () => {
  let rest = ''
  for (let i = 0; i < size / 10; i++) {
    rest += '{"a":"bcde'
    for (let at = 0; at < rest.length; at++) if (rest.charCodeAt(at) === 0) return at
  }
  return rest.length
}

/** Most of the work is linear, and a part is not. */
const mixed = (size: number) => {
  const [one, other] = [once(size), searches(size)]
  return () => [one(), other()]
}

function once(size: number) {
  const text = '{"a": [1, 2, "three"]}'.repeat(size / 22)
  return () => {
    const seen: string[] = []
    for (const character of text) if (character !== ' ') seen.push(character)
    return seen.length
  }
}

const sorts = (size: number) => {
  const numbers = Array.from({ length: size }, (_, i) => (i * 7919) % size)
  return () => numbers.toSorted((a, b) => a - b)
}

describe('expectLinear()', () => {
  // In native code a step is so cheap that only a longer text shows the growth.
  test.each([
    ['loops', loops, 1000],
    ['searches', searches, 6000],
    ['backtracking', backtracking, 500],
    ['rescans', rescans, 500],
    ['mixed', mixed, 6000],
  ])('fails for quadratic work: %s', async (what, make, size) => {
    await expect(expectLinear(what, make, { size })).rejects.toThrow(/times the input takes .* ms for/)
  })

  test.each([
    ['one walk', once],
    ['a sort', sorts],
    ['nothing', () => () => {}],
    ['a step', (size: number) => () => (size > 4000 ? loops(300)() : 0)],
    ['work that waits', (size: number) => async () => once(size)()],
  ])('passes for work that is not: %s', async (what, make) => {
    await expectLinear(what, make, { size: 500 })
  })

  test('says what grew, and both figures', async () => {
    await expect(expectLinear('quotes', loops, { size: 2000, factor: 4 })).rejects.toThrow(
      /^quotes: 4 times the input takes [\d.]+ times the CPU time \([\d.]+ ms for \d+, [\d.]+ ms for \d+\)/,
    )
  })
})
