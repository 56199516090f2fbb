import { expect, test } from 'vitest'
import { Conversation, type Item } from '../../src/views/conversation.ts'
import { ends, makeRun } from './make-run.ts'

type Steps = Parameters<typeof makeRun>[0]

const call = { call_id: 'c', name: 'Bash', kind: 'execute' } as const
const started = ['lifecycle.run.status', { status: 'started' }] as const
const prompt = (text: string) => ['user.message', { text }] as const

function itemsOf(steps: Steps, task?: string): Item[] {
  const items: Item[] = []
  const talk = new Conversation((item) => items.push(item), task)
  for (const event of makeRun(steps)) talk.take(event)
  return items
}

const prompts = (items: readonly Item[]) =>
  items.flatMap((item) => (item.kind === 'prompt' ? [`${item.id} ${item.text}`] : []))

test('the task is the first item; the prompt in the events takes its place, a later one does not', () => {
  expect(prompts(itemsOf([started, ends.well]))).toEqual([])
  expect(prompts(itemsOf([started, ends.well], 'Mend it.'))).toEqual(['1.0 Mend it.'])
  expect(prompts(itemsOf([started, prompt('Mend it, please.')], 'Mend it.'))).toEqual([
    '1.0 Mend it, please.',
  ])
  const later: Steps = [started, ['tool.call.started', call], prompt('And fast.')]
  expect(prompts(itemsOf(later, 'Mend it.'))).toEqual(['1.0 Mend it.', '1.3 And fast.'])
  const late: Steps = [started, ['tool.call.started', call], prompt('Mend it.')]
  expect(prompts(itemsOf(late, 'Mend it.'))).toEqual(['1.0 Mend it.'])
})

test('a call that has not ended when its attempt does is left', () => {
  const steps: Steps = [['tool.call.started', call], ends.well]
  expect(itemsOf(steps)[0]).toMatchObject({ kind: 'tool', does: 'execute', state: 'running', left: true })
  expect(itemsOf(steps.slice(0, 1))[0]).toMatchObject({ state: 'running', left: false })
})
