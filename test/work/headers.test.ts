import { expect, test } from 'vitest'
import { findAnchors, headerParser, readHeaders } from '../../src/work/headers.ts'
import { expectLinear } from '../growth.ts'

const fields = (text: string) => Object.fromEntries(readHeaders(text).fields)

test('the rules have a version', () => {
  expect(headerParser).toBe('work-headers/1')
})

test('reads keys up to the first blank line, and the rest as free text', () => {
  const { fields: found, body } = readHeaders('IssueRef: a#1\nRunId: 7\n\nRunId: 8\nmore\n')
  expect(Object.fromEntries(found)).toEqual({ issue_ref: 'a#1', run_id: '7' })
  expect(body).toBe('RunId: 8\nmore')
})

test('takes CRLF, a BOM, both spellings, colons in values and unknown keys', () => {
  expect(fields('\ufeffrun_id: 7\r\nPR: https://example.org/1\r\nX-Other: y\r\n\r\nbody')).toEqual({
    run_id: '7',
    pr: 'https://example.org/1',
  })
})

test('takes a full-width colon, in the file and in output', () => {
  expect(fields('IssueRef：a#1\nRunId： 7\nPR：https://example.org/1\n\nbody')).toEqual({
    issue_ref: 'a#1',
    run_id: '7',
    pr: 'https://example.org/1',
  })
  expect(findAnchors('10:02 INFO IssueRef：shop#12，RunId：run-7').get('issue_ref')).toBeDefined()
  expect(findAnchors('RunId：run-7').get('run_id')).toBe('run-7')
})

test('takes a line of blanks for a blank line', () => {
  expect(readHeaders('RunId: 7\n \t\r\nbody').body).toBe('body')
})

test.each([
  ['RunId: 7\nRunId: 8\n\n', 'WORK_FIELD_TWICE'],
  ['RunId: 7\nrun_id: 7\n\n', 'WORK_FIELD_TWICE'],
  ['RunId: 7\n continued\n\n', 'WORK_RESULT_BROKEN'],
  ['RunId: 7\n Status: ok\n\n', 'WORK_RESULT_BROKEN'],
  ['RunId : 7\n\n', 'WORK_RESULT_BROKEN'],
  ['RunId: 7\nfree text\n', 'WORK_RESULT_BROKEN'],
  [': 7\n', 'WORK_RESULT_BROKEN'],
  ['a: b\n'.repeat(101), 'WORK_RESULT_BROKEN'],
])('refuses the block %j', (text, code) => {
  expect(readHeaders(text).broken?.code).toBe(code)
})

test('does not take a key in another alphabet for ours', () => {
  expect(fields('RunІd: 7\nStаtus: ok\n')).toEqual({})
})

test('finds no header when the file starts with a blank line', () => {
  expect(fields('\nRunId: 7\n')).toEqual({})
})

const anchorsIn = (text: string) => Object.fromEntries(findAnchors(text))

test('finds anchors at line starts, the first of each, and not in prose', () => {
  const text = 'noise\nRunId: 7\nRunId: 8\r\nsaid Status: ok\nTests: \nTests: 3\r\nMyRunId: 9\nx.commit: 1\n'
  expect(anchorsIn(text)).toEqual({ run_id: '7', tests: '3' })
})

test.each([
  ['an indent', '  RunId: run-7'],
  ['a bullet', '- RunId: run-7'],
  ['another bullet', ' * RunId: run-7'],
  ['bold', '**RunId:** run-7'],
  ['a bold key', '- **RunId**: run-7'],
  ['a bold line', '**RunId: run-7**'],
  ['a code span', 'RunId: `run-7`'],
  ['a quote', '> RunId: run-7'],
  ['a colour', '\u001b[32mRunId: run-7\u001b[0m'],
  ['a coloured key', '\u001b[1;32mRunId\u001b[0m: run-7'],
  ['a time and a level', '2026-11-17 10:00:00,123 INFO RunId: run-7'],
  ['an ISO time', '2026-11-17T10:00:00Z RunId: run-7'],
  ['a time in brackets', '[10:00:00] RunId: run-7'],
  ['a level in brackets', '[worker] [info] RunId: run-7'],
  ['Logback', '10:00:00.123 [main] INFO c.e.App - RunId: run-7'],
  ['Python', 'INFO:root:RunId: run-7'],
  ['Docker Compose', 'worker-1  | RunId: run-7'],
  ['glog', 'I1117 10:00:00.000000 123 main.go:12] RunId: run-7'],
  ['logfmt', 'time=10:00 level=info msg="RunId: run-7"'],
  ['a coloured level', '\u001b[36mINFO\u001b[0m RunId: run-7'],
  ['a comma after it', 'RunId: run-7, Status: ok'],
  ['another key after a blank', 'RunId: run-7 Status: ok'],
  ['bars', '| RunId: run-7 | Status: ok |'],
])('finds an anchor with %s', (_what, line) => {
  expect(findAnchors(`noise\n${line}\nmore\n`).get('run_id')).toBe('run-7')
})

test('reads several anchors of one line one by one', () => {
  expect(anchorsIn('IssueRef: a#1, RunId: b, Status: ok')).toEqual({
    issue_ref: 'a#1',
    run_id: 'b',
    status: 'ok',
  })
  expect(
    anchorsIn('INFO - IssueRef: a#1; RunId: b; Tests: 3 passed, 1 skipped; PR: https://x.example/1'),
  ).toEqual({
    issue_ref: 'a#1',
    run_id: 'b',
    tests: '3 passed, 1 skipped',
    pr: 'https://x.example/1',
  })
  // A key in the middle of free text belongs to the text.
  expect(anchorsIn('Summary: the header Status: ok is read')).toEqual({
    summary: 'the header Status: ok is read',
  })
})

test('prefers an anchor at the start of a line, and no status of a logger', () => {
  expect(anchorsIn('INFO RunId: old\nRunId: new\n')).toEqual({ run_id: 'new' })
  expect(anchorsIn('INFO Status: 200 OK\n  status: 1,\nINFO Status: ok\n')).toEqual({ status: 'ok' })
  expect(anchorsIn('{"text":"x: RunId: run-7\\nStatus: ok"}\n')).toEqual({})
})

test('looks through lines without a colon in linear time', async () => {
  await expectLinear('lines', (size) => {
    const text = `${'\n'.repeat(size)}RunId: 7`
    return () => findAnchors(text)
  })
})
