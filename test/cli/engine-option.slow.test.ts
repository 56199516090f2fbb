import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inside } from './inside.ts'

const home = mkdtempSync(join(tmpdir(), 'sluice-engine-option-'))
afterAll(() => rmSync(home, { recursive: true }))

const file = (name: string, text: string) => {
  writeFileSync(join(home, name), text)
  return join(home, name)
}
const lines = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

const toy = `{
  name: 'toy', parser: 'toy_ndjson', cut: { stdout: 'records', pty: 'records' },
  open: () => ({
    read({ value }, say) {
      if (value?.throws) throw new Error('no such thing')
      if (typeof value?.toy !== 'string') return false
      say.session('s-1')
      say.message('m1', value.toy)
      say.ended('toy')
      return true
    },
  }),
}`
let engine = ''
let log = ''
beforeAll(() => {
  engine = file('toy.mjs', `export default ${toy}`)
  log = file('stdout.log', '{"toy":"hello"}\n')
})

describe('--engine with the path of a module', () => {
  test.each([
    ['events', (): string[] => ['events', log]],
    ['chat', (): string[] => ['chat', '--json', log]],
    ['replay', (): string[] => ['replay', '--json', log]],
    ['run', (): string[] => ['run', '--json', '--no-fs-diff', '--cwd', home, '--audit', join(home, 'run')]],
  ])('%s reads with it', async (name, words) => {
    const command = name === 'run' ? ['--', process.execPath, '-e', `console.log('{"toy":"hello"}')`] : []
    const { out, code, err } = await inside([...words(), '--engine', engine, ...command])
    expect({ code, err: name === 'run' ? '' : err }).toEqual({ code: 0, err: '' })
    expect(lines(out).some((record) => record.data.text === 'hello')).toBe(true)
  })

  test('a path may be relative, and have no slash', async () => {
    const { code } = await inside(['events', '--engine', `./${relative('', engine)}`, log])
    expect(code).toBe(0)
    const missing = await inside(['events', '--engine', 'missing.mjs', log])
    expect(missing.err).toContain('"missing.mjs" has no usable engine: "there is no such file"')
    const folder = await inside(['events', '--engine', './', log])
    expect(folder.err).toContain('"./" has no usable engine: "it is not a file"')
  })

  test.each([
    ['a default export', `export default ${toy}`],
    ['an export engine', `export const engine = ${toy}`],
    ['a class', `class Toy { constructor() { Object.assign(this, ${toy}) } } export default new Toy()`],
    [
      'a picker',
      `const toy = ${toy}; export default { name: 'p', parser: 'p', cut: toy.cut, pick: () => toy, fallback: toy }`,
    ],
  ])('takes %s', async (name, text) => {
    const path = file(`${name.replaceAll(' ', '-')}.mjs`, text)
    const { code, out } = await inside(['events', '--engine', path, log])
    expect([code, lines(out).at(-1).source.engine]).toEqual([0, 'toy'])
  })

  test('takes what was compiled to CommonJS', async () => {
    const compiled = `Object.defineProperty(exports, '__esModule', { value: true }); exports.default = ${toy}`
    expect((await inside(['events', '--engine', file('compiled.cjs', compiled), log])).code).toBe(0)
    expect(
      (await inside(['events', '--engine', file('plain.cjs', `module.exports = ${toy}`), log])).code,
    ).toBe(0)
  })

  const profile = (fields: string) => `export default { name: 'toy', parser: 'toy', ${fields} }`
  test.each([
    ['a module that is not there', undefined, 'there is no such file'],
    ['one that throws', 'throw new Error("broken")', 'broken'],
    ['one that throws no Error', 'throw null', 'null'],
    ['one that is no JavaScript', 'export default {', ''],
    ['one without an engine', 'export const toy = 1', 'it has no default export, and none called engine'],
    ['a function', 'export default () => {}', 'it must be an object'],
    ['no name', 'export default {}', 'name must be a non-empty string'],
    ['no parser', 'export default { name: "toy" }', 'parser must be a non-empty string'],
    ['no cut', profile(''), 'cut must be an object'],
    ['an empty cut', profile('cut: {}'), 'cut must name stdout, stderr or pty'],
    [
      'another cut',
      profile('cut: { stdout: "lines" }'),
      "cut.stdout must be 'records', 'documents' or 'text'",
    ],
    ['odd blocks', profile('cut: { stdout: "text", blocks: "a" }'), 'cut.blocks must be a list of names'],
    ['no open', profile('cut: { stdout: "text" }'), 'open must be a function'],
    ['an odd shape', profile('cut: { stdout: "text" }, open() {}, shape: 1'), 'shape must be a function'],
    ['an odd about', profile('cut: { stdout: "text" }, open() {}, about: 1'), 'about must be a string'],
    [
      'an odd growing',
      profile('cut: { stdout: "text" }, open() {}, growing: 1'),
      'growing must be true or false',
    ],
    [
      'a picker without a fallback',
      profile('cut: { stdout: "text" }, pick() {}'),
      'of its fallback, it must be an object',
    ],
  ])('says what is wrong with %s, and leaves with 2', async (name, text, words) => {
    const path = join(home, `${name.replaceAll(' ', '-')}.mjs`)
    if (text !== undefined) writeFileSync(path, text)
    for (const command of ['events', 'chat', 'replay']) {
      const { code, out, err } = await inside([command, '--engine', path, log])
      expect([code, out]).toEqual([2, ''])
      expect(err).toContain('has no usable engine')
      expect(err).toContain(words)
    }
    const run = await inside(['run', '--engine', path, '--audit', join(home, 'none'), '--', 'true'])
    expect([run.code, run.err.includes(words)]).toEqual([2, true])
  })

  test('a name that is neither is refused with the names there are', async () => {
    const { code, err } = await inside(['events', '--engine', 'toy', log])
    expect([code, err]).toEqual([2, expect.stringContaining('codex')])
    expect(err).toContain('./my-engine.js')
  })

  test('an engine that throws on a record leaves it as raw, and the run goes on', async () => {
    const odd = file('odd.log', '{"throws":true}\n{"toy":"hello"}\n')
    const { code, out } = await inside(['events', '--engine', engine, odd])
    expect(code).toBe(0)
    const events = lines(out)
    expect(events.map(({ type }) => type)).toContain('raw.stdout')
    expect(events.filter(({ data }) => data.code === 'PROFILE_FAILED')).toHaveLength(1)
    expect(events.some(({ data }) => data.text === 'hello')).toBe(true)
  })

  test('one that answers with a promise ends the command with what it must do', async () => {
    const path = file('promise.mjs', profile('cut: { stdout: "records" }, open: () => ({ async read() {} })'))
    const { code, err } = await inside(['events', '--engine', path, log])
    expect([code, err]).toEqual([2, expect.stringContaining('must return true, false or')])
  })

  test('completes a journal of its own engine after a crash', async () => {
    const audit = join(home, 'crashed')
    const words = ['run', '--json', '--no-fs-diff', '--cwd', home, '--audit', audit, '--engine', engine]
    const { out } = await inside([...words, '--', process.execPath, '-e', `console.log('{"toy":"hello"}')`])
    const journal = join(audit, 'events.jsonl')
    writeFileSync(journal, readFileSync(journal, 'utf8').split('\n').slice(0, 1).join('\n').concat('\n'))
    const again = await inside(['replay', audit, '--resume', '--json', '--engine', engine])
    expect(again.err).toContain(': wrote ')
    expect([again.code, again.out, readFileSync(journal, 'utf8')]).toEqual([0, out, out])
  })
})
