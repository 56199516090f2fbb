import { spawnSync } from 'node:child_process'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { Fault, tryParse } from '../../src/index.ts'
import { built } from '../built.ts'

/** What `node -e` prints for a script that has the package. */
function printed(script: string): { stdout: string; stderr: string } {
  const code = `import(${JSON.stringify(built('src/index.ts'))}).then(async (api) => { ${script} })`
  return spawnSync(process.execPath, ['-e', code], { encoding: 'utf8' })
}

describe('a Fault on the console of a real process', () => {
  test('is its code, its place and the next step, without empty fields', () => {
    const { stdout } = printed(`try { api.parse('{"a": [1}') } catch (fault) { console.log(fault) }`)
    expect(stdout).toMatch(/^Fault \[INVALID_JSON\]: the payload is not JSON/)
    expect(stdout).toContain('\n    at ')
    expect(stdout).toContain('\n  where: byte 8, line 1, column 9 of the payload\n')
    expect(stdout).toContain('\n  found: "}", expected a comma or a closing bracket\n')
    expect(stdout).toMatch(/\n {2}next: .*fault\.broken/)
    expect(stdout).not.toContain('undefined')
  })

  test('has its code, and no empty field, when it is not caught: Node asks no object how to show it then', () => {
    const { stderr } = printed(`api.parse(7)`)
    expect(stderr).toContain('Fault: parse needs')
    expect(stderr).toContain("code: 'BAD_OPTION'")
    expect(stderr).toContain('parse(text, { schema })')
    expect(stderr).not.toContain('undefined')
  })
})

describe('a Fault', () => {
  test('shows schema errors and attempts, each on a line', () => {
    const outcome = tryParse('{"a":1}', { label: 'report', schema: { type: 'object', required: ['b'] } })
    if (outcome.ok) throw new Error('it passed')
    expect(inspect(outcome.fault)).toContain(`\n  error: / (required): must have required property 'b'`)
    const attempts = [{ text: '', fault: outcome.fault, duration_ms: 1 }]
    expect(inspect(new Fault('SCHEMA_FAILED', 'no', { attempts }))).toContain(
      '\n  attempt 1: SCHEMA_FAILED: report:',
    )
  })

  test('shows its cause, and a big value in short', () => {
    const fault = new Fault('NORMALIZE_FAILED', 'no', { cause: new Error('inner'), value: 'x'.repeat(5000) })
    expect(inspect(fault)).toContain('\n  cause: Error: inner')
    expect(inspect(fault).length).toBeLessThan(3000)
  })

  test('cannot steer the terminal', () => {
    const outcome = tryParse('{"a": \u009b2J}')
    if (outcome.ok) throw new Error('it passed')
    // The cause is the sentence of V8, which quotes the input as it is.
    const shown = inspect(outcome.fault).replace(/\n {2}cause: .*/, '')
    expect(shown).toContain('found: "\\u009b2J}"')
    expect(shown).not.toContain('\u009b')
  })
})
