import { expectTypeOf, test } from 'vitest'
import {
  type AgentEvent,
  type EndState,
  type EventOf,
  isEvent,
  type MessageData,
} from '../../src/events/event.ts'
import type { Chat, ChatOf } from '../../src/views/chat.ts'

test('isEvent narrows to the data of the type', () => {
  const event = {} as AgentEvent
  if (isEvent(event, 'agent.message.final')) {
    expectTypeOf(event.data).toEqualTypeOf<MessageData>()
    expectTypeOf(event.event.category).toEqualTypeOf<'agent'>()
  }
  if (isEvent(event, 'tool.call.completed', 'tool.call.failed')) expectTypeOf(event.data.call_id).toBeString()
  expectTypeOf<EventOf<'lifecycle.completion.state'>['data']['state']>().toEqualTypeOf<
    'completed' | 'awaiting_user_input' | 'interrupted' | 'unknown'
  >()
})

test('a chat record narrows on its type', () => {
  const record = {} as Chat
  if (record.type === 'assistant.tool_call')
    expectTypeOf(record.data.phase).toEqualTypeOf<'started' | 'completed' | 'failed'>()
  if (record.type === 'artifact.created') expectTypeOf(record.data.path).toBeString()
  expectTypeOf<ChatOf<'conversation.started'>['data']>().toEqualTypeOf<{
    readonly session_id: string
    readonly model?: string
    readonly cwd?: string
    readonly engine_version?: string
  }>()
})

test('a switch on the type of a record narrows its data', () => {
  const event = {} as AgentEvent
  switch (event.type) {
    case 'agent.message.final':
      expectTypeOf(event.data.text).toEqualTypeOf<string>()
      break
    case 'lifecycle.completion.state':
      expectTypeOf(event.data.state).toEqualTypeOf<EndState>()
      break
  }
})
