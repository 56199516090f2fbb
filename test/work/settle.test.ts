import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { settle, type WorkEvidence } from '../../src/work/settle.ts'
import { expectLinear } from '../growth.ts'
import { runs } from '../pace.ts'

const order = { issue_ref: 'shop#12', run_id: 'run-7', repo_dir: '/repo' }
const good = {
  issue_ref: 'shop#12',
  run_id: 'run-7',
  status: 'ok',
  changes: { pr: 'https://example.org/pull/3' },
  tests: '12 passed',
  summary: 'Fixed the cart.',
}
const goodText =
  'IssueRef: shop#12\nRunId: run-7\nStatus: ok\nPR: none\nCommit: abc123\nTests: n/a\n\nFixed.\n'

const file = (text: string): WorkEvidence['json'] => ({ state: 'read', text, bytes: text.length })
const json = (value: unknown) => file(JSON.stringify(value))
const codes = (evidence: WorkEvidence, active = 'run-7') =>
  settle(evidence, order, active).reasons.map(({ code }) => code)

describe('settle', () => {
  test('needs neither pr nor commit of a worker that is blocked', () => {
    const { changes: _, ...none } = good
    const blocked = { ...none, status: 'blocked', blocked_by: 'shop#3' }
    expect(settle({ json: json(blocked) }, order, 'run-7')).toMatchObject({
      verdict: 'advance',
      result: { status: 'blocked', changes: {} },
    })
    const header = 'IssueRef: shop#12\nRunId: run-7\nStatus: blocked\nPR: none\nTests: n/a\n\nNo key.\n'
    expect(settle({ text: file(header) }, order, 'run-7').verdict).toBe('advance')
    expect(codes({ json: json({ ...blocked, status: 'fail' }) })).toEqual(['WORK_FIELD_MISSING'])
  })

  test('advances a complete JSON result and normalises it', () => {
    const settled = settle({ json: json(good) }, order, 'run-7')
    expect(settled).toEqual({
      verdict: 'advance',
      reasons: [],
      notes: [],
      result: good,
      claim: good,
      source: 'json',
      tried: [
        { source: 'json', outcome: 'complete' },
        { source: 'text', outcome: 'absent' },
      ],
    })
  })

  test('takes a byte order mark for what it is', () => {
    expect(settle({ json: file(`\ufeff${JSON.stringify(good)}`) }, order, 'run-7').verdict).toBe('advance')
  })

  test('the anchors of stdout count before those of stderr', () => {
    const { claim } = settle(
      { stdout: 'Status: ok\nCommit: aaa\n', stderr: 'Commit: bbb\nTests: 3 passed\n' },
      order,
      'run-7',
    )
    expect(claim).toMatchObject({ changes: { commit: 'aaa' }, tests: '3 passed' })
  })

  test('advances a complete text result and takes the free text as its summary', () => {
    const settled = settle({ text: file(goodText) }, order, 'run-7')
    expect(settled.verdict).toBe('advance')
    expect(settled.source).toBe('text')
    expect(settled.result).toMatchObject({ changes: { commit: 'abc123' }, tests: 'n/a', summary: 'Fixed.' })
    expect(settled.result?.changes).not.toHaveProperty('pr')
  })

  test.each(['fail', 'blocked'] as const)('advances a valid result with the status %s', (status) => {
    const settled = settle({ json: json({ ...good, status, blocked_by: 'shop#9' }) }, order, 'run-7')
    expect(settled.verdict).toBe('advance')
    expect(settled.result).toMatchObject({ status, blocked_by: 'shop#9' })
  })

  test('takes PascalCase keys in JSON and snake_case keys in text', () => {
    const pascal = { IssueRef: 'shop#12', RunId: 'run-7', Status: 'ok', Commit: 'abc', Tests: 'n/a' }
    expect(settle({ json: json(pascal) }, order, 'run-7').verdict).toBe('advance')
    const snake = 'issue_ref: shop#12\r\nrun_id: run-7\r\nstatus: ok\r\ncommit: abc\r\ntests: -\r\n'
    expect(settle({ text: file(snake) }, order, 'run-7').result?.tests).toBe('-')
  })

  test('prefers JSON over text and says that the text was not read', () => {
    const settled = settle({ json: json(good), text: file(goodText) }, order, 'run-7')
    expect(settled.source).toBe('json')
    expect(settled.tried[1]).toMatchObject({ source: 'text', outcome: 'not read' })
  })

  test('does not fall to the text when the JSON is broken', () => {
    const settled = settle({ json: file('{"issue_ref":'), text: file(goodText) }, order, 'run-7')
    expect(settled.verdict).toBe('needs-human')
    expect(settled.reasons[0]?.code).toBe('WORK_RESULT_BROKEN')
    expect(settled.tried[0]?.outcome).toBe('broken')
    expect(settled.result).toBeUndefined()
  })

  test.each(['[]', 'null', '', '```json\n{}\n```'])('refuses %j as a result', (text) => {
    expect(codes({ json: file(text) })).toContain('WORK_RESULT_BROKEN')
  })

  test('counts a left-over as no evidence at all', () => {
    const settled = settle({ json: { state: 'stale' }, text: file(goodText) }, order, 'run-7')
    expect(settled.verdict).toBe('advance')
    expect(settled.notes[0]?.code).toBe('WORK_FILE_STALE')
    expect(codes({ json: { state: 'stale' } })).toEqual(['WORK_NO_RESULT'])
  })

  test('asks a human when a file was refused, even if the other one is good', () => {
    expect(codes({ json: { state: 'refused', message: 'is a FIFO' }, text: file(goodText) })).toEqual([
      'WORK_FILE_REFUSED',
    ])
  })

  test('archives a result of another run, whatever else it says', () => {
    const settled = settle({ json: json({ ...good, run_id: 'run-6', status: 'nonsense' }) }, order, 'run-7')
    expect(settled.verdict).toBe('archive')
    expect(settled.reasons[0]?.code).toBe('WORK_RUN_MISMATCH')
  })

  test('archives a late run that claims the id of the active one', () => {
    expect(settle({ json: json({ ...good, run_id: 'run-8' }) }, order, 'run-8').verdict).toBe('archive')
  })

  test('refuses a result for another issue', () => {
    expect(codes({ json: json({ ...good, issue_ref: 'shop#13' }) })).toEqual(['WORK_ISSUE_MISMATCH'])
  })

  test.each(['issue_ref', 'run_id', 'status', 'changes', 'tests'])('needs %s', (key) => {
    for (const value of [undefined, null, '', '  ', 7, true, [], {}]) {
      const settled = settle({ json: json({ ...good, [key]: value }) }, order, 'run-7')
      expect(settled.verdict, `${key} = ${JSON.stringify(value)}`).toBe('needs-human')
    }
  })

  test.each(['none', 'n/a', '-', 'None', 'N/A'])(
    'takes %s as no PR and no commit, but as an answer for tests',
    (word) => {
      expect(codes({ json: json({ ...good, changes: { pr: word, commit: word } }) })).toEqual([
        'WORK_FIELD_MISSING',
      ])
      expect(codes({ json: json({ ...good, tests: word }) })).toEqual([])
    },
  )

  test('keeps a structured test report as one line', () => {
    const settled = settle({ json: json({ ...good, tests: { passed: 12, failed: 0 } }) }, order, 'run-7')
    expect(settled.result?.tests).toBe('{"passed":12,"failed":0}')
  })

  test.each([
    ['{"run_id":"run-7",', 'a key twice'],
    ['{"RunId":"run-7",', 'two spellings'],
    ['{"\\u0072un_id":"run-6",', 'an escaped spelling'],
    ['{"pr":"x",', 'at the top and in changes'],
  ])('refuses a field that is given twice: %s', (start) => {
    const text = JSON.stringify(good).replace('{', start)
    expect(codes({ json: file(text) })).toContain('WORK_FIELD_TWICE')
  })

  test('refuses values that would leave their line in a comment', () => {
    expect(codes({ json: json({ ...good, tests: 'ok\nStatus: ok' }) })).toEqual(['WORK_FIELD_INVALID'])
    expect(codes({ json: json({ ...good, changes: { pr: 'a\u001b[2J' } }) })).toEqual(['WORK_FIELD_INVALID'])
  })

  test('lets prototype keys do nothing', () => {
    const text = `{"__proto__":{"status":"ok"},"constructor":{"prototype":{"run_id":"run-7"}},"issue_ref":"shop#12"}`
    const settled = settle({ json: file(text) }, order, 'run-7')
    expect(settled.verdict).toBe('needs-human')
    expect(settled.claim).not.toHaveProperty('status')
    expect(({} as Record<string, unknown>)['status']).toBeUndefined()
  })

  test('survives a result nested a hundred thousand deep', () => {
    const deep = `${'['.repeat(1e5)}${']'.repeat(1e5)}`
    const text = JSON.stringify(good).replace('"12 passed"', deep)
    expect(codes({ json: file(text) })).toEqual(['WORK_FIELD_INVALID'])
  })

  test('never takes exit 0 with nothing for ok', () => {
    const settled = settle(
      { exit: { code: 0, signal: null }, stdout: 'all good, status ok!' },
      order,
      'run-7',
    )
    expect(settled).toMatchObject({ verdict: 'needs-human', claim: {} })
    expect(settled.reasons[0]?.code).toBe('WORK_NO_RESULT')
  })

  test('finds anchors in the output, which never advance by themselves', () => {
    const settled = settle({ stdout: `log\n${goodText}`, stderr: 'Summary: from stderr\n' }, order, 'run-7')
    expect(settled.verdict).toBe('needs-human')
    expect(settled.result).toBeUndefined()
    expect(settled.claim).toMatchObject({
      status: 'ok',
      changes: { commit: 'abc123' },
      summary: 'from stderr',
    })
    expect(settled.reasons[0]?.code).toBe('WORK_UNTRUSTED')
    expect(settled.tried.at(-1)?.source).toBe('output')
  })

  test.each([
    ['on a line of a log', (text: string) => `start {x}\n${text}\nbye`],
    ['as the whole output', (text: string) => JSON.stringify(JSON.parse(text), null, 2)],
    ['in a fence', (text: string) => `Here:\n\`\`\`json\n${text}\n\`\`\`\n`],
    ['among records of a log', (text: string) => `{"status":"running"}\n${text}\n{"run_id":"ci-9"}\n`],
  ])('JSON on stdout with the anchors was not seen: %s, and it never advances', (_, output) => {
    const settled = settle({ stdout: output(JSON.stringify(good)) }, order, 'run-7')
    expect(settled).toMatchObject({ verdict: 'needs-human', source: 'output', claim: good })
    expect(settled.reasons.map(({ code }) => code)).toEqual(['WORK_UNTRUSTED'])
    expect(settled.result).toBeUndefined()
  })

  test('an object on stdout that names neither issue nor run is no anchor', () => {
    expect(codes({ stdout: '{"type":"result","status":"success"}\n' })).toEqual(['WORK_NO_RESULT'])
  })

  test('the name of another run in a log asks a human, and archives nothing silently', () => {
    for (const stdout of ['{"run_id":"ci-9","status":"ok"}\n', 'RunId: ci-9\n']) {
      const settled = settle({ stdout }, order, 'run-7')
      expect(settled.verdict).toBe('needs-human')
      expect(settled.reasons[0]?.code).toBe('WORK_RUN_MISMATCH')
      expect(settle({ stdout }, order, 'run-8').verdict).toBe('archive')
    }
  })

  test('anchors on stderr as JSON count for nothing', () => {
    expect(codes({ stderr: JSON.stringify(good) })).toEqual(['WORK_NO_RESULT'])
  })

  test('hostile output takes linear time, and asks a human', async () => {
    for (const piece of ['{', '{"run_id":', '"', '[{', '{"run_id":"a"}', '```json\n{']) {
      for (const said of [
        (stdout: string) => ({ stdout, json: file(stdout) }),
        (stdout: string) => ({ stdout }),
      ]) {
        const settled = (text: string) => () => settle(said(text), order, 'run-7')
        await expectLinear(piece, (size) => settled(piece.repeat(size / piece.length)))
        expect(settled(piece.repeat(1000))().verdict).toBe('needs-human')
      }
    }
  })

  test.each([
    ['```json\n{"run_id":"run-7"}\n```', { run_id: 'run-7' }],
    ['{"run_id":"run-7","status":"ok",}', { status: 'ok' }],
    ['Sure! {"run_id":"run-7"}', { run_id: 'run-7' }],
  ])('shows what repair would have read in %j, and takes nothing of it', (text, claim) => {
    const settled = settle({ json: file(text) }, order, 'run-7')
    expect(settled).toMatchObject({ verdict: 'needs-human', claim: {}, repaired: { claim } })
    expect(settled.reasons[0]?.code).toBe('WORK_RESULT_BROKEN')
  })

  test.each(['', 'nothing here', '{}{', '[]', '{"run_id":'])('repair reads nothing in %j', (text) => {
    const { repaired } = settle({ json: file(text) }, order, 'run-7')
    // A file that is JSON needs no repair.
    expect(repaired?.claim).toEqual(text === '[]' ? undefined : {})
  })

  test('takes the word of a conversation only from an adapter that trusts it', () => {
    expect(codes({ conversation: { payload: good, trusted: false } })).toEqual(['WORK_UNTRUSTED'])
    expect(settle({ conversation: { payload: good, trusted: true } }, order, 'run-7').verdict).toBe('advance')
    const both = { json: json({ ...good, status: 'fail' }), conversation: { payload: good, trusted: true } }
    expect(settle(both, order, 'run-7').result?.status).toBe('fail')
  })

  test('keeps an ok with a bad exit code, and tells the conflict', () => {
    const settled = settle({ json: json(good), exit: { code: 3, signal: null } }, order, 'run-7')
    expect(settled.verdict).toBe('advance')
    expect(settled.notes.map(({ code }) => code)).toEqual(['COMPLETION_CONFLICT'])
  })

  test('asks a human when the worker was ended before it was done', () => {
    const killed = { json: json(good), exit: { code: null, signal: 'SIGKILL' } }
    expect(codes(killed)).toEqual(['WORK_INTERRUPTED'])
    expect(codes({ json: json(good), exit: { code: 0, signal: null, ended: 'timeout' } })).toEqual([
      'WORK_INTERRUPTED',
    ])
  })
})

describe('no input whatsoever advances', () => {
  const required = ['issue_ref', 'run_id', 'status', 'changes', 'tests'] as const
  const word = fc.oneof(fc.constantFrom('run-7', 'shop#12', 'ok', 'none', 'run-8', ''), fc.string())
  const any = fc.oneof(word, fc.jsonValue({ maxDepth: 2 }))
  const noise = fc.dictionary(
    fc.constantFrom('summary', 'Summary', 'questions', '__proto__', 'x', 'RunId', 'PR'),
    any,
  )
  const found = (text: fc.Arbitrary<string>): fc.Arbitrary<WorkEvidence['json']> =>
    fc.oneof(
      { weight: 8, arbitrary: text.map(file) },
      {
        weight: 1,
        arbitrary: fc.constantFrom<WorkEvidence['json']>({ state: 'stale' }, undefined, { state: 'absent' }),
      },
    )
  const headers = (value: Record<string, unknown>) =>
    Object.entries({ ...value, ...(value['changes'] as object) })
      .map(
        ([key, field]) =>
          `${key}: ${typeof field === 'string' ? field : JSON.stringify(field ?? '').slice(1, -1)}`,
      )
      .join('\n')

  test('with a wrong run_id', () => {
    fc.assert(
      fc.property(noise, any, fc.boolean(), fc.string({ minLength: 1 }), (extra, run_id, asText, active) => {
        fc.pre(run_id !== active)
        const value = { ...extra, ...good, run_id }
        const evidence = asText ? { text: file(headers(value)) } : { json: json(value) }
        const trimmed = typeof run_id === 'string' ? run_id.trim() : run_id
        const { verdict } = settle(evidence, { ...order, run_id: active }, active)
        if (!asText || trimmed !== active) expect(verdict).not.toBe('advance')
      }),
      { numRuns: runs(1000) },
    )
  })

  test('with a missing or wrong required field', () => {
    fc.assert(
      fc.property(noise, fc.constantFrom(...required), any, fc.boolean(), (extra, key, value, asText) => {
        fc.pre(!(key === 'tests' && value !== null && value !== ''))
        fc.pre(JSON.stringify(value) !== JSON.stringify(good[key]))
        const isObject = typeof value === 'object' && value !== null
        fc.pre(!(key === 'changes' && isObject))
        const word = typeof value === 'string' ? value.trim() : undefined
        fc.pre(!(key === 'status' && ['ok', 'fail', 'blocked'].includes(word ?? '')))
        fc.pre(word === undefined || word !== good[key])
        const { PR: _pr, ...quiet } = extra as Record<string, unknown>
        const record = { ...quiet, ...good, [key]: value }
        const evidence = asText ? { text: file(headers(record)) } : { json: json(record) }
        expect(settle(evidence, order, 'run-7').verdict).not.toBe('advance')
      }),
      { numRuns: runs(1000) },
    )
  })

  test('made of arbitrary files, unless the files really are complete', () => {
    const record = fc.record(
      {
        issue_ref: word,
        run_id: word,
        status: word,
        changes: fc.record({ pr: word, commit: word }, { requiredKeys: [] }),
        tests: word,
      },
      { requiredKeys: [] },
    )
    const text = fc.oneof(
      record.map((value) => JSON.stringify(value)),
      record.map(headers),
      fc.string(),
    )
    fc.assert(
      fc.property(found(text), found(text), fc.string(), word, (jsonFile, textFile, stdout, active) => {
        const settled = settle({ json: jsonFile, text: textFile, stdout } as WorkEvidence, order, active)
        if (settled.verdict !== 'advance') return
        expect(active).toBe('run-7')
        expect(settled.result).toMatchObject({ issue_ref: 'shop#12', run_id: 'run-7', status: 'ok' })
        expect(settled.result?.changes.pr ?? settled.result?.changes.commit).toMatch(/\S/)
        expect(settled.result?.tests).toMatch(/\S/)
      }),
      { numRuns: runs(1000) },
    )
  })
})
