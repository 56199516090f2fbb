import { describe, expect, test } from 'vitest'
import { parse, tryParse } from '../../src/values/parse.ts'
import { brief, outcomes } from './chunked.ts'

describe('a result that an agent wraps in other text', () => {
  const schema = {
    type: 'object',
    required: ['digest_path', 'references_path', 'provenance', 'warnings', 'error'],
    properties: {
      digest_path: { type: 'string' },
      references_path: { type: 'string' },
      provenance: {
        type: 'object',
        required: ['generated_at', 'input_hash', 'model'],
        properties: {
          generated_at: { type: 'string' },
          input_hash: { type: 'string' },
          model: { type: 'string' },
        },
      },
      warnings: { type: 'array' },
      error: { type: ['object', 'null'] },
    },
  }
  const payload = {
    digest_path: '.../artifacts/digest.md',
    references_path: '.../artifacts/references.json',
    provenance: {
      generated_at: '2026-02-14T00:00:00Z',
      input_hash: 'sha256:...',
      model: 'gemini-3-pro-preview',
    },
    warnings: [],
    error: null,
  }
  const repaired = [
    {
      ok: true,
      value: payload,
      repair_level: 'deterministic_generic',
      notes: [
        { code: 'OUTPUT_REPAIRED_GENERIC', changes: [{ kind: expect.any(String), at: expect.any(Number) }] },
      ],
    },
  ]

  test('is found in a code fence', () => {
    expect(
      outcomes(`任务已完成。\n\`\`\`json\n${JSON.stringify(payload)}\n\`\`\`\n`, { schema }),
    ).toMatchObject(repaired)
  })

  test('is found as JSON text in the response field of an envelope', () => {
    const envelope = JSON.stringify({ session_id: 'xxx', response: JSON.stringify(payload) }, null, 2)
    expect(outcomes(envelope, { schema })).toMatchObject(repaired)
  })

  test('is a fault if the content of the envelope does not pass', () => {
    const envelope = JSON.stringify({ session_id: 'xxx', response: '{"digest_path":"..."}' })
    expect(brief(envelope, { schema })).toEqual(['SCHEMA_FAILED'])
  })

  test('is found in mixed text', () => {
    const text = `The task is complete.\nResult:\n${JSON.stringify(payload)}\n附加统计信息...\n`
    expect(outcomes(text, { schema })).toMatchObject(repaired)
  })

  test('is a fault if required fields are missing: nothing is made up', () => {
    const { digest_path, references_path } = payload
    const [outcome] = outcomes(JSON.stringify({ digest_path, references_path }), { schema })
    expect(outcome).toMatchObject({
      ok: false,
      repair_level: 'none',
      notes: [],
      fault: {
        code: 'SCHEMA_FAILED',
        errors: [
          { path: '', rule: 'required', message: expect.stringContaining('provenance') },
          { path: '', rule: 'required', message: expect.stringContaining('warnings') },
          { path: '', rule: 'required', message: expect.stringContaining('error') },
        ],
      },
    })
  })
})

describe('<json> blocks', () => {
  const tag = 'json'

  test('after a thinking block', () => {
    const [outcome] = outcomes('<thinking>...</thinking><json>{"a":1}</json>', { tag })
    expect(outcome).toMatchObject({ ok: true, value: { a: 1 }, repair_level: 'none' })
  })

  test('with a trailing comma, between sentences', () => {
    const [outcome] = outcomes('Sure, here is the json: <json> { "a": 1, } </json> Hope this helps!', { tag })
    expect(outcome).toMatchObject({ ok: true, value: { a: 1 }, repair_level: 'deterministic_generic' })
  })

  test('truncated: closed if that is allowed, else a fault', () => {
    expect(brief('<json>{"a":1', { tag })).toEqual(['TRUNCATED'])
    // The number may have gone on, so it is listed as incomplete.
    expect(outcomes('<json>{"a":1', { tag, partial: true })).toMatchObject([
      { ok: true, value: { a: 1 }, incomplete: ['', '/a'], repair_level: 'deterministic_generic' },
    ])
    expect(outcomes('<json>{"a":1,"b":"tex', { tag, partial: true })).toMatchObject([
      { ok: true, value: { a: 1, b: 'tex' }, incomplete: ['', '/b'] },
    ])
  })

  test('none: the raw output is the comment', () => {
    const raw = 'I could not find\nany issue.'
    expect(outcomes(raw, { tag })).toMatchObject([
      { ok: false, fault: { code: 'NO_MATCH' }, comment: { text: raw, truncated: false, from: 0, to: 27 } },
    ])
  })

  test('several: the last one can be picked', () => {
    expect(brief('<json>{"v":1}</json> no: <json>{"v":2}</json>', { tag, pick: 'last' })).toEqual([{ v: 2 }])
  })

  test('a last block without its closing tag is read to the end', () => {
    expect(brief('<json>{"v":1}</json> no: <json>{"v":2}', { tag, pick: 'last' })).toEqual([{ v: 2 }])
  })

  test('with trailing commas', () => {
    expect(brief('<json>[1, 2,]</json>', { tag, root: 'any' })).toEqual([[1, 2]])
  })

  test('with keys that lack quotes', () => {
    expect(brief('<json>{key: "val"}</json>', { tag })).toEqual([{ key: 'val' }])
  })

  test('with Markdown marks inside the JSON', () => {
    expect(brief('<json>\n{"key": "val",\n```\n"md": "``` stays"}\n```\n</json>', { tag })).toEqual([
      { key: 'val', md: '``` stays' },
    ])
  })

  describe('judged by a schema with nested rules', () => {
    const AnalysisResult = {
      type: 'object',
      required: ['issues'],
      properties: {
        issues: {
          type: 'array',
          items: {
            type: 'object',
            required: ['file', 'line', 'severity', 'message'],
            properties: {
              file: { type: 'string', minLength: 1 },
              line: { type: 'integer', minimum: 1 },
              severity: { enum: ['critical', 'high', 'medium', 'low'] },
              message: { type: 'string', minLength: 1 },
            },
          },
        },
      },
    }
    const issue = { file: 'a.go', line: 1, severity: 'high', message: 'nil' }
    const check = (change: object) => {
      const issues = [issue, { ...issue, ...change }]
      const [outcome] = outcomes(`<json>${JSON.stringify({ issues })}</json>`, {
        tag,
        schema: AnalysisResult,
      })
      if (!outcome) throw new Error('no outcome')
      return outcome.ok
        ? 'ok'
        : outcome.fault.errors?.map(({ path, rule, message }) => `${path} ${rule}: ${message}`)
    }

    test('a good one passes', () => {
      expect(check({})).toBe('ok')
      expect(brief('<json>{"issues":[]}</json>', { tag, schema: AnalysisResult })).toEqual([{ issues: [] }])
    })

    test('file must not be empty', () => {
      expect(check({ file: '' })).toEqual([
        '/issues/1/file minLength: must NOT have fewer than 1 characters, found ""',
      ])
    })

    test('file must be there', () => {
      expect(check({ file: undefined })?.[0]).toMatch(/^\/issues\/1 required: .*'file'/)
    })

    test('line must be at least 1', () => {
      expect(check({ line: 0 })).toEqual(['/issues/1/line minimum: must be >= 1, found 0'])
    })

    test('line must be a whole number', () => {
      expect(check({ line: 1.5 })).toEqual(['/issues/1/line type: must be integer, found 1.5'])
    })

    test.each(['critical', 'high', 'medium', 'low'])('severity %s is known', (severity) => {
      expect(check({ severity })).toBe('ok')
    })

    test('severity must be one of the four', () => {
      expect(check({ severity: 'urgent' })).toEqual([
        '/issues/1/severity enum: must be one of "critical", "high", "medium", "low", found "urgent"',
      ])
    })

    test('message must not be empty', () => {
      expect(check({ message: '' })?.[0]).toMatch(/^\/issues\/1\/message minLength/)
    })

    test('issues must be there', () => {
      expect(brief('<json>{}</json>', { tag, schema: AnalysisResult })).toEqual(['SCHEMA_FAILED'])
    })
  })
})

describe('one parser for the answers of all models', () => {
  const schema = { type: 'object', required: ['verdict'], properties: { verdict: { enum: ['buy', 'sell'] } } }
  const good = { ok: true, value: { verdict: 'buy' } }

  test('empty and blank input fails at once', () => {
    expect(() => parse('', { label: 'valuation' })).toThrow('valuation: the input is empty or blank')
    expect(() => parse(' \n\t', { schema })).toThrow(expect.objectContaining({ code: 'EMPTY' }))
  })

  test('<think> is stripped, over lines', () => {
    expect(
      tryParse('<think>\nmaybe {"verdict":"sell"}\n</think>\n{"verdict":"buy"}', { schema }),
    ).toMatchObject(good)
  })

  test('the Markdown fence is stripped, with and without its label', () => {
    expect(tryParse('```json\n{"verdict":"buy"}\n```', { schema })).toMatchObject(good)
    expect(tryParse('```\n{"verdict":"buy"}\n```', { schema })).toMatchObject(good)
  })

  test('raw line breaks, returns and tabs in strings are escaped', () => {
    const text = '{"verdict":"buy","why":"a\nb\r\nc\td"}'
    expect(tryParse(text, { schema })).toMatchObject({ value: { verdict: 'buy', why: 'a\nb\r\nc\td' } })
  })

  test('clean JSON is parsed as it is', () => {
    expect(tryParse('{"verdict":"buy"}', { schema })).toMatchObject({ ...good, repair_level: 'none' })
  })

  test('an object in the middle of text is found', () => {
    expect(tryParse('My verdict is {"verdict":"buy"} for now.', { schema })).toMatchObject(good)
  })

  test('the root must be an object', () => {
    expect(tryParse('[{"verdict":"buy"}]')).toMatchObject({ ok: false, fault: { code: 'ROOT_NOT_OBJECT' } })
    expect(tryParse('"buy"', { root: 'any' })).toMatchObject({ ok: true, value: 'buy' })
  })

  test('normalizers map fields, in order', () => {
    const lower = (value: { verdict: string }) => ({ ...value, verdict: value.verdict.toLowerCase() })
    const map = (value: { verdict: string }) =>
      value.verdict === 'long' ? { ...value, verdict: 'buy' } : value
    expect(tryParse('{"verdict":"LONG"}', { schema, normalize: [lower, map] })).toMatchObject(good)
  })

  test('the schema decides', () => {
    expect(tryParse('{"verdict":"hold"}', { schema })).toMatchObject({
      ok: false,
      fault: { code: 'SCHEMA_FAILED', errors: [{ path: '/verdict', rule: 'enum' }] },
    })
  })

  test('all of these at once', () => {
    const text = '<think>hm</think>\nSure:\n```json\n{"verdict":"BUY","why":"a\nb",}\n```'
    const lower = (value: { verdict: string }) => ({ ...value, verdict: value.verdict.toLowerCase() })
    expect(tryParse(text, { schema, normalize: [lower] })).toMatchObject({
      value: { verdict: 'buy', why: 'a\nb' },
    })
  })

  test('a normalizer that throws is not swallowed, and the parsed object is attached', () => {
    const broken = () => {
      throw new TypeError('no such field')
    }
    const outcome = tryParse('{"verdict":"buy"}', { schema, normalize: [broken], label: 'bull' })
    expect(outcome).toMatchObject({
      ok: false,
      fault: {
        code: 'NORMALIZE_FAILED',
        message: expect.stringMatching(/^bull: .*normalizer 1: no such field/),
        value: { verdict: 'buy' },
        cause: expect.any(TypeError),
      },
    })
  })
})
