import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Attack, attacksOn } from './regex-attacks.ts'
import { regexesIn } from './regexes.ts'

/**
 * In microseconds. 4,000 characters take some microseconds in linear time, and several of these in quadratic.
 */
const MILLISECOND = 1000

const src = fileURLToPath(new URL('../../src', import.meta.url))

test('no regular expression in src/ takes more than linear time', () => {
  const slow: string[] = []
  let count = 0
  for (const file of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue
    for (const { regex, line } of regexesIn(readFileSync(join(src, file), 'utf8'))) {
      count++
      const attack = slowAttack(regex)
      if (attack) slow.push(`${file}:${line} ${regex} on ${JSON.stringify(attack)}`)
    }
  }
  expect(count).toBeGreaterThan(100)
  expect(slow).toEqual([])
})

test.each([
  ['exponential', /^(a+)+$/],
  ['exponential by a choice', /^(?:a|a)*$/],
  ['exponential behind a beginning', /^name: (?:\w+\s?)*;/],
  ['quadratic, as it begins anew at each character', /a+b/],
  ['quadratic at the end of a text', /[ \t]+$/],
  ['quadratic with a beginning that repeats', /<!--[\s\S]*-->/],
  ['quadratic with two repetitions of one class', /^\s*\s*x/],
  ['quadratic in a look-ahead', /(?=\d+x)\d/],
  ['quadratic with a large bound', /x{0,9999}y/],
])('a pattern is found that is %s: %s', (_, regex) => {
  expect(slowAttack(regex)).toBeDefined()
})

test.each([
  /^a+$/,
  /[abc]/g,
  /^\[(.*)\]$/,
  /\{\{([^{}]{0,100})\}\}/g,
  /^[\w.-]{1,60}$/,
  /"\s{0,99}:\s{0,99}$/,
])('a pattern is let pass that is linear: %s', (regex) => expect(slowAttack(regex)).toBeUndefined())

test('patterns are found in code and templates, with their lines, and divisions are none', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of one.
  const code = "const a = b / c / d // /no/\nx(/y+/g, `/no/${{ z: /[/]z/ }.z}/no/`, '/no/')"
  expect(regexesIn(code)).toEqual([
    { regex: /y+/g, line: 2 },
    { regex: /[/]z/, line: 2 },
  ])
  expect(() => regexesIn('\nnew RegExp(u)')).toThrow('line 2')
})

/**
 * The first attack that makes a pattern take more than linear time. Sizes grow slowly at first, as each
 * character may double the time.
 */
function slowAttack(regex: RegExp): Attack | undefined {
  return attacksOn(regex).find(({ prefix, unit }) => {
    const timeOf = (times: number, runs: number) => {
      const text = `${prefix}${unit.repeat(times)}\u0001`
      return cpuTime(runs, () => text.replace(regex, ''))
    }
    return [16, 20, 24, 30, 40, 60, 100, 500, 2000, 4000].some((times) => {
      if (timeOf(times, 1) < MILLISECOND) return false
      const least = timeOf(times, 3)
      return least > MILLISECOND && (times < 500 || least > 8 * timeOf(times / 4, 3))
    })
  })
}

/** The least CPU time of some runs, in microseconds. */
function cpuTime(runs: number, work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < runs; run++) {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, user + system)
  }
  return least
}
