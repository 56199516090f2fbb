import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { codex } from '../../src/engines/codex/codex.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { text } from '../../src/engines/text.ts'
import { type Engine, isRecord } from '../../src/events/engine.ts'
import type { ResultData } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { chat, type Input, lines, only, run } from '../engines/run.ts'
import { slow } from '../pace.ts'

const schema = {
  type: 'object',
  required: ['digest_path', 'warnings', 'error'],
  properties: { digest_path: { type: 'string' }, warnings: { type: 'array' }, error: {} },
}
const good = '{"digest_path":"artifacts/digest.md","warnings":[],"error":null}'
const value = { digest_path: 'artifacts/digest.md', warnings: [], error: null }

const says = (...messages: string[]): Input => ({
  stdout: lines(
    ...messages.map((text, index) => ({
      type: 'item.completed',
      item: { id: `item_${index}`, type: 'agent_message', text },
    })),
    { type: 'turn.completed', usage: {} },
  ),
  exit: 0,
})
const resultOf = (input: Input, profile = codex): ResultData =>
  only(run(profile, input, { schema }), 'lifecycle.run.result')[0]!.data

describe('status and repair level of a run result', () => {
  test('repair succeeded → status success, the warning is there, repair_level is right, cacheable', () => {
    expect(resultOf(says(`任务已完成。\n\`\`\`json\n${good}\n\`\`\`\n`))).toEqual({
      status: 'success',
      value,
      repair_level: 'deterministic_generic',
      warnings: ['OUTPUT_REPAIRED_GENERIC'],
      cacheable: true,
    })
  })

  test('repair failed → status failed, level none, not cacheable', () => {
    const failed = resultOf(says('```json\n{"digest_path":"x"}\n```'))
    expect(failed).toMatchObject({ status: 'failed', repair_level: 'none', cacheable: false })
    expect(failed.warnings).toContain('SCHEMA_FAILED')
    expect(failed.errors?.map(({ rule }) => rule)).toContain('required')
    expect(failed).not.toHaveProperty('value')
  })

  test('no repair needed → level none, no warnings, cacheable', () => {
    expect(resultOf(says(`<json>${good}</json>`))).toEqual({
      status: 'success',
      value,
      repair_level: 'none',
      warnings: [],
      cacheable: true,
    })
  })

  test('an envelope with the response as a string → repaired', () => {
    const stdout = JSON.stringify({ session_id: 'xxx', response: good }, null, 2)
    expect(resultOf({ stdout, exit: 0 }, gemini)).toMatchObject({
      status: 'success',
      repair_level: 'deterministic_generic',
      warnings: ['OUTPUT_REPAIRED_GENERIC'],
    })
  })

  test('mixed text and a first object → repaired', () => {
    const stdout = `The task is complete.\nResult:\n${good}\nstatistics…\n`
    expect(resultOf({ stdout, exit: 0 }, text)).toMatchObject({
      status: 'success',
      repair_level: 'deterministic_generic',
    })
  })
})

test.each([
  [['```json\n{"a":1}\n```', 'Corrected: {"a":2,"b":[']],
  [['Draft {"a":1}', 'Final: {"a":2,"b":[']],
  [['Draft {"a":1}', 'Final: {']],
  [['<json>{"a":1}</json>', '<json>\n']],
  [['<json>{"a":1}</json>\n<json>\nHere is the result: {"a":2']],
])('a correction that is cut is no success of its draft: %j', (messages) => {
  const needsA = { type: 'object', required: ['a'] }
  const [result] = only(run(codex, says(...messages), { schema: needsA }), 'lifecycle.run.result')
  expect(result!.data).toMatchObject({ status: 'failed', cacheable: false, warnings: ['TRUNCATED'] })
  const [done] = only(run(codex, says(...messages, '{"a":3}'), { schema: needsA }), 'lifecycle.run.result')
  expect(done!.data).toMatchObject({ status: 'success', value: { a: 3 } })
})

describe('the result of a run', () => {
  test('is the last payload of the last message that has one', () => {
    const draft = good.replace('digest.md', 'draft.md')
    expect(
      resultOf(says(`<json>${draft}</json>`, `<json>${draft}</json> then <json>${good}</json>`, 'Bye.'))
        .value,
    ).toEqual(value)
  })

  describe('is what was marked as the answer', () => {
    const answers = {
      tag: `<json>${good}</json>`,
      fence: `\`\`\`json\n${good}\n\`\`\``,
      'whole message': good,
    }
    const bye = 'done, see {"note":"bye"}'

    test.each(Object.entries(answers))('in a %s, not an object in the last sentence', (_, answer) => {
      expect(resultOf(says(answer, bye)), 'another message').toMatchObject({ status: 'success', value })
      if (answer === good) return
      expect(resultOf(says(`${answer}\n${bye}`)), 'the same message').toMatchObject({
        status: 'success',
        value,
      })
      expect(resultOf(says(`${bye}\n${answer}`)), 'before it').toMatchObject({ status: 'success', value })
    })

    test.each(Object.entries(answers))('in a %s, not a valid object in a sentence either', (_, answer) => {
      const other = `As I said before: ${good.replace('digest.md', 'other.md')}, or so.`
      expect(resultOf(says(answer, other)).value).toEqual(value)
    })

    test('and if nothing is marked, the last object that passes', () => {
      expect(resultOf(says(`The answer is ${good}, I think.`, bye))).toMatchObject({
        status: 'success',
        value,
        repair_level: 'deterministic_generic',
      })
      expect(resultOf(says(`The answer is ${good}, I think; ${bye}`)).value).toEqual(value)
    })

    test('and if nothing passes, the last one says why', () => {
      const failed = resultOf(says('See {"digest_path": 7}.', bye))
      expect(failed).toMatchObject({ status: 'failed', warnings: ['SCHEMA_FAILED'] })
      expect(failed.errors).toHaveLength(3)
    })

    test.each([
      ['tag', '<json>{"digest_path": "x"}</json>', 'SCHEMA_FAILED'],
      ['tag that is cut', '<json>{"digest_path": "a', 'TRUNCATED'],
      ['fence', '```json\n{"digest_path": }\n```', 'INVALID_JSON'],
      ['whole message', '{"digest_path": "x"}', 'SCHEMA_FAILED'],
      ['whole message that is cut', '{"digest_path": "a', 'TRUNCATED'],
    ])('broken or not: an earlier draft never takes the place of a %s', (_, last, code) => {
      for (const draft of [...Object.values(answers), `Well, ${good}, I think.`]) {
        const failed = resultOf(says(draft, last, bye))
        expect(failed.status).toBe('failed')
        expect(failed.warnings).toContain(code)
      }
    })
  })

  describe('with messages that were left open', () => {
    /** One piece per record; a record with `end` is a whole message. */
    const toy: Engine = {
      name: 'toy',
      parser: 'toy_ndjson',
      cut: { stdout: 'records' },
      open: () => ({
        read({ value }, say) {
          if (!isRecord(value)) return false
          if (value['end']) say.message(String(value['id']), String(value['text']))
          else say.piece('message', String(value['id']), String(value['text']))
          return true
        },
      }),
    }
    const part = (id: string, name: string) => ({ id, text: good.replace('digest.md', name) })
    const pathOf = (records: object[], options = {}) => {
      const events = run(toy, { stdout: lines(...records), exit: 0 }, { schema, ...options })
      const [result] = only(events, 'lifecycle.run.result')
      return (result!.data.value as Record<string, unknown> | undefined)?.['digest_path']
    }

    test('is that of the whole one after them', () => {
      expect(pathOf([part('a', 'draft.md'), { ...part('b', 'real.md'), end: true }])).toBe(
        'artifacts/real.md',
      )
      expect(pathOf([part('a', 'draft.md'), { id: 'b', text: 'Bye.', end: true }])).toBe(undefined)
    })

    test('is that of the open one, if it spoke last', () => {
      const last = [{ ...part('b', 'real.md'), end: true }, part('a', 'draft.md')]
      expect(pathOf(last)).toBe('artifacts/draft.md')
      const tagged = { id: 'a', text: `<json>${last[1]!.text}</json>` }
      expect(pathOf([{ id: 'a', text: 'Well: ' }, last[0]!, tagged])).toBe('artifacts/draft.md')
    })

    test.runIf(slow)('is that of the last open one, however many there are', () => {
      const many = Array.from({ length: 100 }, (_, n) => part(`m-${n}`, `${n}.md`))
      expect(pathOf(many)).toBe('artifacts/99.md')
      expect(pathOf([...many, { id: 'x', text: 'no' }], { maxFrame: 200 })).toBe('artifacts/99.md')
    })
  })

  test('is failed when no message has a payload', () => {
    expect(resultOf(says('Hello.'))).toEqual({
      status: 'failed',
      repair_level: 'none',
      warnings: ['NO_MATCH'],
      cacheable: false,
    })
  })

  test('of a run that broke off is no success, though its payload passed', () => {
    const { stdout = '' } = says(`<json>${good}</json>`)
    const broken = { stdout: stdout.split('\n').slice(0, 1).join('\n'), exit: 1 }
    const warnings = ['COMPLETION_CONFLICT']
    expect(resultOf(broken)).toMatchObject({ status: 'failed', warnings, cacheable: false })
  })

  test.each([
    ['the end signal', says(`<json>${good}</json>`)],
    ['the done marker', says(`<json>${good.replace('{', '{"__SKILL_DONE__":true,')}</json>`)],
  ])('of a process that failed after %s is not cacheable', (_, said) => {
    expect(resultOf({ ...said, exit: 0 })).toMatchObject({ cacheable: true })
    expect(resultOf({ ...said, exit: 1 })).toMatchObject({ status: 'failed', cacheable: false })
  })

  test('does not contradict the end: without the done marker it is no success, and not cached', () => {
    const said = says(`<json>${good}</json>`)
    const events = run(codex, said, { schema, doneMarker: 'done' })
    const [result] = only(events, 'lifecycle.run.result')
    const [end] = only(events, 'lifecycle.completion.state')
    expect(end!.data).toMatchObject({ outcome: 'needs_input', ok: false })
    expect(result!.data).toMatchObject({
      status: 'failed',
      cacheable: false,
      warnings: ['COMPLETION_CONFLICT'],
    })
  })

  test('takes any Standard Schema, and is in the chat record of a run that is done', () => {
    const answer = '<json>{"digest_path":"artifacts/digest.md","__SKILL_DONE__":true}</json>'
    const events = run(codex, says(answer), { schema: z.object({ digest_path: z.string() }) })
    expect(chat(events).at(-2)).toMatchObject({
      type: 'conversation.completed',
      data: { result: { status: 'success', value: { digest_path: 'artifacts/digest.md' } } },
    })
  })

  test('pick: first takes the first payload of a message that passes, the default the last', () => {
    const other = good.replace('digest.md', 'draft.md')
    const message = `<json>{"x":1}</json>\n<json>${other}</json>\n<json>${good}</json>`
    const path = (options: object) =>
      only(run(codex, says(message), { schema, ...options }), 'lifecycle.run.result').map(
        ({ data }) => (data.value as typeof value).digest_path,
      )
    expect(path({})).toEqual(['artifacts/digest.md'])
    expect(path({ pick: 'first' })).toEqual(['artifacts/draft.md'])
  })

  test('a draft in another message that passes is told as AMBIGUOUS, the same answer again is not', () => {
    const draft = good.replace('digest.md', 'draft.md')
    const warnings = (...messages: string[]) => resultOf(says(...messages)).warnings
    expect(warnings(`\`\`\`json\n${draft}\n\`\`\``, `Corrected: ${good}`)).toContain('AMBIGUOUS')
    expect(warnings(`<json>${good}</json>`, `<json>${good}</json>`)).toEqual([])
  })

  test('maxRepair limits how long a payload may be repaired', () => {
    const long = `<json>${good.slice(0, -1)},"x":"${'y'.repeat(70_000)}",}</json>`
    expect(resultOf(says(long)).warnings).toContain('REPAIR_SKIPPED')
    const [result] = only(run(codex, says(long), { schema, maxRepair: 100_000 }), 'lifecycle.run.result')
    expect(result?.data).toMatchObject({ status: 'success', repair_level: 'deterministic_generic' })
  })

  test('is not there without a schema', () => {
    expect(only(run(codex, says(good)), 'lifecycle.run.result')).toEqual([])
  })

  test('needs a schema that can be used, before any byte flows', () => {
    expect(() => eventStage(codex, { schema: { type: 'nonsense' } })).toThrow(
      expect.objectContaining({ code: 'BAD_SCHEMA' }),
    )
  })
})

describe('payloads in messages', () => {
  const final = (text: string) => only(run(codex, says(text)), 'agent.message.final')[0]!.data

  test('are attached with their repair level', () => {
    expect(final(`<json>${good}</json>`)).toMatchObject({ structured_payload: value, repair_level: 'none' })
    expect(final('x\n```json\n{"a":1,}\n```\n{"b":2}')).toMatchObject({ structured_payload: { b: 2 } })
    expect(final('Hello {name}.')).not.toHaveProperty('structured_payload')
  })

  test('are not found in think blocks', () => {
    expect(final('<thinking>\n<json>{"draft":1}</json>\n</thinking>\nNo.')).not.toHaveProperty(
      'structured_payload',
    )
  })

  test('that are cut are told', () => {
    const events = run(codex, says('<json>{"a": [1, 2,'))
    expect(only(events, 'diagnostic.parser.warning').map(({ data }) => data.code)).toEqual(['TRUNCATED'])
    expect(only(events, 'agent.message.final')[0]!.data).not.toHaveProperty('structured_payload')
  })

  test('with prototype keys change no prototype', () => {
    const data = final(
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}, "a": 1}',
    )
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect(Object.getPrototypeOf(data.structured_payload)).toBe(Object.prototype)
  })
})

test('the sentence of a run whose result fails names the schema, and says where in it', () => {
  const schema = { type: 'object', properties: { issues: { type: 'array' } } }
  const [end] = only(run(codex, says('{"issues":5}'), { schema }), 'lifecycle.completion.state')
  expect(end?.data.problem).toBe('its result fails the schema: /issues must be array, found 5')
})
