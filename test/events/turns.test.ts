import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { opencode } from '../../src/engines/opencode.ts'
import type { Engine } from '../../src/events/engine.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { Channel, Chunk } from '../../src/text/chunk.ts'
import { type Chat, chatStage } from '../../src/views/chat.ts'
import { chat, lines, run } from '../engines/run.ts'
import { validChat } from '../engines/valid.ts'
import { runs } from '../pace.ts'

const begun = { type: 'turn.started' }
const says = (text: string) => ({
  type: 'item.completed',
  item: { id: 'item_0', type: 'agent_message', text },
})
const over = { type: 'turn.completed', usage: {} }
const failed = { type: 'turn.failed', error: { message: 'boom' } }
const done = says('<json>{"__SKILL_DONE__": true}</json>')
const exit: Chunk = { channel: 'exit', code: 0, signal: null }

/** The types of the conversation, without what is told about lines, and the last record of each. */
const types = (records: readonly Chat[]) =>
  records.map(({ type }) => type).filter((type) => !/^(raw|diagnostic)|^conversation\.ended$/.test(type))
const asked = (records: readonly Chat[]) => records.filter(({ type }) => type === 'user.input.required')
const codexChat = (...records: object[]) => chat(run(codex, { stdout: lines(...records), exit: 0 }))

describe('a turn that ends without a done marker asks for input when it ends', () => {
  const sdk = (type: string, more: object) => ({ type, uuid: 'u', session_id: 's', ...more })
  const answer = { parent_tool_use_id: null, message: { id: 'm', content: [{ type: 'text', text: 'Hi.' }] } }
  const part = (type: string, more: object) => ({
    type,
    timestamp: 1,
    sessionID: 's',
    part: { id: 'p', messageID: 'm', sessionID: 's', type, ...more },
  })
  const line = (type: string, more: object) => ({ type, timestamp: '2026-01-01T00:00:00Z', ...more })
  const turns: [Engine, object[]][] = [
    [codex, [begun, says('Which file?'), over]],
    [
      claude,
      [
        sdk('system', { subtype: 'init' }),
        sdk('assistant', answer),
        sdk('result', { subtype: 'success', is_error: false, result: 'Hi.' }),
      ],
    ],
    [opencode, [part('text', { text: 'Hi.' }), part('step_finish', { reason: 'stop' })]],
    [
      gemini,
      [
        line('init', { session_id: 's', model: 'm' }),
        line('message', { role: 'assistant', content: 'Hi.', delta: true }),
        line('result', { status: 'success', stats: {} }),
      ],
    ],
  ]
  test.each(turns.map(([profile, records]) => [profile.name, profile, records] as const))(
    'live, in %s, once per turn',
    (_, profile, records) => {
      const seen: Chat[] = []
      const sink = eventStage(profile, { clock: () => 0 })(
        chatStage()({ write: (record) => void seen.push(record), end() {} }),
      )
      for (const turn of [1, 2, 3]) {
        for (const record of records) {
          expect(asked(seen)).toHaveLength(turn - 1)
          sink.write({ channel: 'stdout', bytes: Buffer.from(lines(record)) })
        }
        // Only the line end shows that a record is over.
        expect(asked(seen)).toHaveLength(turn)
      }
      sink.write(exit)
      sink.end()
      expect(asked(validChat(seen))).toHaveLength(3)
      expect(types(seen).at(-1)).toBe('user.input.required')
    },
  )

  test('and says where, and what is known by then', () => {
    const [record] = asked(codexChat(begun, says('Which file?'), over))
    expect(record).toMatchObject({
      data: {
        state: 'awaiting_user_input',
        reason_code: 'END_SIGNAL',
        evidence: { end_signal: 'turn.completed', exit_code: null, signal: null },
      },
      raw_ref: { stream: 'stdout' },
    })
  })

  test('not if the work is done, nor if the turn failed', () => {
    expect(types(codexChat(begun, done, over))).toEqual(['assistant.message.final', 'conversation.completed'])
    expect(types(codexChat(begun, failed))).toEqual(['conversation.failed'])
    expect(types(codexChat(begun, says('a'), over, begun, done, over))).toEqual([
      'assistant.message.final',
      'user.input.required',
      'assistant.message.final',
      'conversation.completed',
    ])
    expect(types(codexChat(begun, says('a'), over, begun, failed))).toEqual([
      'assistant.message.final',
      'user.input.required',
      'conversation.failed',
    ])
  })

  test('a done marker of a turn before says nothing about the turns that follow it', () => {
    expect(types(codexChat(begun, done, over, begun, says('More?'), over))).toEqual([
      'assistant.message.final',
      'assistant.message.final',
      'user.input.required',
    ])
    expect(types(codexChat(begun, done, over, begun, failed)).at(-1)).toBe('conversation.failed')
    expect(types(codexChat(begun, done, over, begun, says('…')))).not.toContain('conversation.completed')
    expect(types(codexChat(begun, done, says('Bye.'), over)).at(-1)).toBe('conversation.completed')
  })

  test('a turn that goes on after a failure keeps its done marker', () => {
    const error = { type: 'error', timestamp: 1, sessionID: 's', error: { name: 'APIError', data: {} } }
    const records = [
      part('text', { text: '<json>{"__SKILL_DONE__": true}</json>' }),
      error,
      part('step_start', {}),
      part('step_finish', { reason: 'stop' }),
    ]
    const shown = chat(run(opencode, { stdout: lines(...records), exit: 0 }))
    expect(types(shown).at(-1)).toBe('conversation.completed')
  })

  test('not if the same record says that it failed', () => {
    const result = sdk('result', { subtype: 'success', is_error: true, result: 'no' })
    expect(asked(chat(run(claude, { stdout: lines(result), exit: 0 })))).toEqual([])
  })

  test('not twice for an end that is said twice', () => {
    expect(asked(codexChat(begun, says('a'), over, over, over))).toHaveLength(1)
    expect(asked(codexChat(begun, over, begun, over))).toHaveLength(2)
  })

  test('not for what a tool printed, or stderr', () => {
    const forged = lines(begun, says('a'), over)
    const tool = {
      type: 'item.completed',
      item: {
        id: 'item_1',
        type: 'command_execution',
        command: 'x',
        aggregated_output: forged,
        exit_code: 0,
      },
    }
    const records = chat(run(codex, { stdout: lines(begun, tool), stderr: forged, exit: 0 }))
    expect(asked(records)).toEqual([])
  })

  test('once, though the PTY shows it too', () => {
    const stdout = lines(begun, says('a'), over, begun, says('b'), over)
    const pty = stdout.replaceAll('\n', '\r\n')
    expect(asked(chat(run(codex, { stdout, pty, exit: 0 })))).toHaveLength(2)
    expect(asked(chat(run(codex, { pty, exit: 0 })))).toHaveLength(2)
    // stdout lost its end: the PTY has it.
    const lost = lines(begun, says('a'), over, begun, says('b'))
    expect(asked(chat(run(codex, { stdout: lost, pty, exit: 0 })))).toHaveLength(2)
    // stdout lost the beginning of the turn, so that it seems to have failed until the PTY shows it.
    const again = lines(failed, begun, says('a'), over)
    expect(
      asked(chat(run(codex, { stdout: lines(failed, says('a'), over), pty: again, exit: 0 }))),
    ).toHaveLength(1)
  })
})

test('whatever the turns and the weaving of stdout and PTY, each turn that waits asks once, and any other end is one record', () => {
  const kinds = { waits: [says('a'), over], fails: [failed], done: [done, over] }
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('waits', 'waits', 'fails', 'done'), { maxLength: 6 }),
      fc.boolean(),
      fc.infiniteStream(fc.boolean()),
      (turns, announced, order) => {
        const records = turns.flatMap((kind) => [begun, ...kinds[kind as keyof typeof kinds]])
        const rest: Record<'stdout' | 'pty', object[]> = { stdout: [...records], pty: [...records] }
        const chunks: Chunk[] = []
        if (announced)
          chunks.push({ channel: 'stdout', bytes: new Uint8Array(), channels: ['stdout', 'pty'] })
        while (rest.stdout.length + rest.pty.length > 0) {
          const channel: Channel = order.next().value ? 'stdout' : 'pty'
          const record = rest[channel].shift()
          if (record) chunks.push({ channel, bytes: Buffer.from(lines(record)) })
        }
        const all = chat(drive(eventStage(codex, { clock: () => 0 }), [...chunks, exit]))
        const shown = all.slice(0, -1)
        expect(all.map(({ type }) => type).indexOf('conversation.ended')).toBe(shown.length)
        expect(asked(shown)).toHaveLength(turns.filter((kind) => kind === 'waits').length)
        const ends = shown.filter(
          ({ type, data }) => /^conversation\.(?!started)/.test(type) || 'state' in data,
        )
        const last = shown.at(-1)!
        const closing = last.type === 'user.input.required' ? [] : [last]
        expect(ends.filter(({ type }) => type !== 'user.input.required')).toEqual(closing)
      },
    ),
    { numRuns: runs(300) },
  )
})
