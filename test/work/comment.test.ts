import { expect, test } from 'vitest'
import { checkTemplate, renderComment } from '../../src/work/comment.ts'
import { readHeaders } from '../../src/work/headers.ts'
import { settle, type WorkEvidence } from '../../src/work/settle.ts'

const order = { issue_ref: 'shop#12', run_id: 'run-7', repo_dir: '/repo' }
const good = { issue_ref: 'shop#12', run_id: 'run-7', status: 'ok', commit: 'abc', tests: '3 passed' }
const settled = (value: object) => {
  const text = JSON.stringify(value)
  return settle({ json: { state: 'read', text, bytes: text.length } }, order, 'run-7')
}
const comment = (value: object, template?: string) =>
  renderComment(settled(value), order, 'json-cli', template)

test('has every key field, in a head that the header parser reads back', () => {
  const text = comment({ ...good, summary: 'One.\nTwo.', blocked_by: 'shop#9', questions: ['Why?', 'When?'] })
  expect(Object.fromEntries(readHeaders(text).fields)).toEqual({
    issue_ref: 'shop#12',
    run_id: 'run-7',
    status: 'ok',
    pr: 'none',
    commit: 'abc',
    tests: '3 passed',
  })
  expect(text).toContain('Worker: json-cli\nEvidence: json\n')
  expect(text).toContain('> One.\n> Two.\n')
  expect(text).toContain('Blocked by:\n> shop#9\n')
  expect(text).toContain('> Why?\n>\n> When?\n')
  expect(text).not.toContain('{{')
})

test('says the reason and the next step, never a success, for a result that does not advance', () => {
  const text = comment({ ...good, tests: undefined, summary: 'all done' })
  expect(text).toContain('Status: needs-human\n')
  expect(text).toContain('- WORK_FIELD_MISSING: tests is missing\n')
  expect(text).toMatch(/^Next step: \S/m)
  expect(text).not.toMatch(/^Status: ok/m)
})

const said = '{"IssueRef":"shop#12","RunId":"run-7","Status":"ok","PR":"http://x","Tests":"ok"}'

test.each<[string, WorkEvidence]>([
  ['JSON on stdout', { stdout: said }],
  ['headers on stdout', { stdout: 'RunId: run-7\nStatus: ok\n' }],
  ['a conversation', { conversation: { payload: JSON.parse(said), trusted: false } }],
])('the status that the worker claimed in %s was hidden; now it is shown as a claim', (_, evidence) => {
  const text = renderComment(settle(evidence, order, 'run-7'), order, 'script')
  expect(text).toContain('\nStatus: needs-human\n')
  expect(text).toContain('\n\nClaimed status: ok (untrusted)\n')
  expect(text).not.toMatch(/^Status: ok/m)
  expect(readHeaders(text).fields.get('status')).toBe('needs-human')
})

test('the status in a file with a missing field is shown as a claim, and no claim where there is none', () => {
  expect(comment({ ...good, tests: undefined })).toContain('\nClaimed status: ok (does not count)\n')
  expect(comment(good)).not.toContain('Claimed')
  expect(comment({ ...good, status: undefined })).not.toContain('Claimed')
})

test.each(['is not UTF-8', 'has 2147483648 bytes, more than 1048576', 'is a FIFO'])(
  'the next step for a file that %s says that it is not a regular file',
  (message) => {
    const refused = settle({ json: { state: 'refused', message } }, order, 'run-7')
    const text = renderComment(refused, order, 'json-cli')
    const step = /^Next step: (.*)$/m.exec(text)![1]
    expect(step).toContain(`look at the result file before touching it (work_result.json ${message})`)
    expect(step).not.toContain('is not a regular file')
    expect(step).toContain('small regular file in UTF-8')
  },
)

const broken = (text: string) => {
  const evidence = { json: { state: 'read' as const, text, bytes: text.length } }
  const found = settle(evidence, order, 'run-7')
  return { found, text: renderComment(found, order, 'json-cli') }
}

test('the repair that is shown hid a key that is there twice', () => {
  const { found, text } = broken('{"status":"fail","status":"ok","run_id":"run-7",}')
  expect(found.repaired?.notes.map(({ code }) => code)).toEqual(['DUPLICATE_KEY'])
  expect(text).toContain('\n>   "status": "ok",\n')
  expect(text).toMatch(/\n> DUPLICATE_KEY: .*"status"/)
})

test('a field that is there in two spellings is told with the repair', () => {
  expect(broken('{"status":"fail","Status":"ok",}').text).toContain('\n> WORK_FIELD_TWICE: status is given')
})

test.each([
  ['cut', '{"issue_ref":"shop#12","run_id":"run-7","status":"o', 'TRUNCATED'],
  ['no object', 'done, all is well', 'NO_MATCH'],
  ['without a field of ours', '{"a":1,}', 'no field of a result'],
])('the comment says that repair found nothing in a file that is %s', (_, text, why) => {
  const { found, text: shown } = broken(text)
  expect(shown).toContain('\nWhat repair would have read, which does not count:\n> (nothing')
  expect(shown).toContain(why)
  expect(found.repaired?.claim).toEqual({})
})

test.each([
  ['by hand', 'Summary of the person who handed it in:'],
  ['json-cli', 'Summary of the worker:'],
])('the summary of a result %s says whose it is', (worker, line) => {
  const text = renderComment(settled({ ...good, summary: 'Done.' }), order, worker)
  expect(text).toContain(`\n${line}\n> Done.\n`)
})

test('cannot be reshaped by what a worker wrote', () => {
  const summary = 'x\nStatus: ok\r\nRunId: 9\u2028PR: y <!-- sluice-work --> {{run_id}} \u001b[2J\u202e'
  const text = comment({ ...good, status: 'fail', summary })
  expect(text.match(/^(Status|RunId|PR): .*/gm)).toEqual(['RunId: run-7', 'Status: fail', 'PR: none'])
  expect(text).toContain('&lt;!-- sluice-work')
  expect(text).toContain('{{run_id}}')
  expect(text).not.toMatch(/[\u001b\u202e\u2028]/)
})

test('fills a template of your own', () => {
  expect(comment(good, '{{status}} by {{worker}}{{summary}}')).toBe('ok by json-cli\n')
  expect(
    comment(good, '{{#needs_human}}\nno\n{{/needs_human}}\n{{#advance}}\nyes {{commit}}\n{{/advance}}\n'),
  ).toBe('yes abc\n')
})

test('refuses a template that names what does not exist, with the names that do', () => {
  expect(() => checkTemplate('{{stauts}}')).toThrow(/"stauts".*status/)
})

test.each([
  ['a wrong name in a section that one verdict drops', 'x\n{{#advance}}\n{{typo}}\n{{/advance}}\n', '"typo"'],
  ['a wrong name in the section of the other', '{{#needs_human}}\n{{typo}}\n{{/needs_human}}\n', '"typo"'],
  ['a section of a wrong name', '{{#typo}}\nx\n{{/typo}}\n', '"typo"'],
  ['a section that is not closed', '{{#summary}}\n{{summary}}\n', 'summary'],
  ['a section that was not opened', 'x\n{{/summary}}\n', 'summary'],
  ['sections that cross', '{{#summary}}\n{{#pr}}\n{{/summary}}\n{{/pr}}\n', 'pr'],
  ['a section in a section', '{{#advance}}\n{{#pr}}\nx\n{{/pr}}\n{{/advance}}\n', 'pr'],
  ['a section inside a line', 'a {{#summary}}\nx\n{{/summary}}\n', 'summary'],
  ['a section whose end is inside a line', '{{#summary}}\nx {{/summary}}\n', 'summary'],
  ['no name', '{{}}', '""'],
])('refuses a template with %s, before there is a verdict', (_, template, named) => {
  expect(() => checkTemplate(template)).toThrow(
    expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(named) }),
  )
})

test('a template that is taken can be filled for every verdict', () => {
  const template =
    '{{#advance}}\nyes\n{{/advance}}\n{{#needs_human}}\nno: {{reasons}}\n{{/needs_human}}tail {{ x'
  checkTemplate(template)
  expect(comment(good, template)).toBe('yes\ntail {{ x\n')
  expect(comment({ ...good, tests: undefined }, template)).toBe(
    'no: - WORK_FIELD_MISSING: tests is missing\ntail {{ x\n',
  )
})

test('what went wrong in the run is in the comment of a result that does not count, in one line', () => {
  const left = { exit: { code: 1, signal: null }, problem: '401 Unauthorized:\nno key' }
  const bad = renderComment(settled({ ...good, tests: undefined }), order, 'script', undefined, left)
  expect(bad).toContain('\nProblem: 401 Unauthorized: no key\n')
  expect(renderComment(settled(good), order, 'script', undefined, left)).not.toContain('Problem:')
})
