import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nanocoder } from '../../src/engines/nanocoder.ts'
import { fixtures } from './fixture.ts'
import { endOf, run, texts } from './run.ts'
import { type Summary, summaryOf } from './summary.ts'

const own = fixtures().filter(({ engine }) => engine === 'nanocoder')

/** A plain reading of the one document. */
function plainly(path: string): Summary {
  const document = JSON.parse(readFileSync(join(path, 'stdout.log'), 'utf8'))
  const bad = ({ result, error }: { result?: string; error?: string }) =>
    Boolean(error) || /^EXIT_CODE: [1-9]/.test(result ?? '')
  const names = (want: boolean) =>
    document.toolCalls.filter((call: object) => bad(call) === want).map(({ name }: { name: string }) => name)
  return {
    state: document.finalText.includes('__SKILL_DONE__')
      ? 'completed'
      : document.kind === 'success'
        ? 'awaiting_user_input'
        : 'interrupted',
    messages: [document.finalText],
    ...(names(false).length > 0 && { completed: names(false), files: ['created a.txt'] }),
    ...(names(true).length > 0 && { failed: names(true) }),
    ...(document.reasoning && { reasoning: 1 }),
  }
}

test.each(own.filter(({ name }) => /\.json-/.test(name) && !name.startsWith('cut')))(
  'reads $name as a plain reading of its document does',
  (fixture) => expect(summaryOf({ ...fixture, fsDiff: undefined })).toEqual(plainly(fixture.path)),
)

test('a document that was cut off is no answer and no success', () => {
  const cut = own.find(({ name }) => name.startsWith('cut'))!
  expect(summaryOf(cut)).toEqual({ state: 'interrupted', messages: [] })
})

test('plain text is the answer, and its end is unknown', () => {
  const events = run(nanocoder, { stdout: '\nHello.\n', stderr: '[plain] done\n', exit: 0 })
  expect(texts(events)).toEqual(['Hello.'])
  expect(endOf(events).state).toBe('unknown')
})

test('what comes after the document is no answer', () => {
  const document = JSON.stringify({ kind: 'success', exitCode: 0, finalText: 'Hi', toolCalls: [] })
  expect(texts(run(nanocoder, { stdout: `noise\n${document}\nmore\n`, exit: 0 }))).toEqual(['Hi'])
})
