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

test('finds anchors at line starts only, the first of each', () => {
  const anchors = findAnchors(
    'noise\nRunId: 7\n  Status: ok\nRunId: 8\r\nsaid Status: ok\nTests: \nTests: 3\r\n',
  )
  expect(Object.fromEntries(anchors)).toEqual({ run_id: '7', tests: '3' })
})

test('looks through lines without a colon in linear time', async () => {
  await expectLinear('lines', (size) => {
    const text = `${'\n'.repeat(size)}RunId: 7`
    return () => findAnchors(text)
  })
})
