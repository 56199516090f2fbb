import { describe, expect, test } from 'vitest'
import { drive, join, type Sink, type Stage } from '../../src/base/stage.ts'

const double: Stage<number, number> = (next) => ({
  write: (n) => next.write(2 * n),
  end: () => next.end(),
})

/** Hands out pairs, and at the end what is left alone. */
const pairs: Stage<number, string> = (next) => {
  let first: number | undefined
  return {
    write(n) {
      if (first === undefined) first = n
      else {
        next.write(`${first},${n}`)
        first = undefined
      }
    },
    end() {
      if (first !== undefined) next.write(`${first}`)
      next.end()
    },
  }
}

describe('drive', () => {
  test('runs a stage over an array, its last words included', () => {
    expect(drive(pairs, [1, 2, 3])).toEqual(['1,2', '3'])
  })

  test('takes any iterable and may be used again, each time with a fresh state', () => {
    expect(drive(pairs, new Set([1]))).toEqual(['1'])
    expect(drive(pairs, [2])).toEqual(['2'])
  })

  test('ends a stage that got nothing', () => {
    expect(drive(pairs, [])).toEqual([])
  })

  test('passes on what the stage throws', () => {
    const bomb: Stage<number, number> = () => ({
      write() {
        throw new RangeError('no')
      },
      end() {},
    })
    expect(() => drive(bomb, [1])).toThrow(RangeError)
  })
})

describe('join', () => {
  test('is function application: a write above is a call below, at once', () => {
    const seen: string[] = []
    const print: Sink<string> = { write: (text) => void seen.push(text), end: () => void seen.push('end') }
    const sink = join(double, pairs)(print)
    sink.write(1)
    expect(seen).toEqual([])
    sink.write(2)
    expect(seen).toEqual(['2,4'])
    sink.end()
    expect(seen).toEqual(['2,4', 'end'])
  })

  test('gives the same in whatever order the floors are joined', () => {
    const left = join(join(double, double), pairs)
    const right = join(double, join(double, pairs))
    expect(drive(left, [1, 2, 3])).toEqual(['4,8', '12'])
    expect(drive(right, [1, 2, 3])).toEqual(drive(left, [1, 2, 3]))
  })

  test('keeps the state of two runs apart', () => {
    const stage = join(double, pairs)
    const one: string[] = []
    const two: string[] = []
    const a = stage({ write: (text) => void one.push(text), end() {} })
    const b = stage({ write: (text) => void two.push(text), end() {} })
    a.write(1)
    b.write(10)
    a.write(2)
    b.write(20)
    expect([one, two]).toEqual([['2,4'], ['20,40']])
  })
})
