import { expect, test } from 'vitest'
import { nanocoder } from '../../src/engines/nanocoder.ts'
import { endOf, run, texts } from './run.ts'

test('plain text is the answer, and its end is unknown', () => {
  const events = run(nanocoder, { stdout: '\nHello.\n', stderr: '[plain] done\n', exit: 0 })
  expect(texts(events)).toEqual(['Hello.'])
  expect(endOf(events).state).toBe('unknown')
})

test('what comes after the document is no answer', () => {
  const document = JSON.stringify({ kind: 'success', exitCode: 0, finalText: 'Hi', toolCalls: [] })
  expect(texts(run(nanocoder, { stdout: `noise\n${document}\nmore\n`, exit: 0 }))).toEqual(['Hi'])
})
