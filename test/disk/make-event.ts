import type { AgentEvent } from '../../src/events/event.ts'

/** An event of its own for tests that only need a record. */
export function makeEvent(
  seq: number,
  more: { text?: string; attempt?: number; run?: string; diagnostic?: boolean } = {},
): AgentEvent {
  const { text = `message ${seq}`, attempt = 1, run = 'r1', diagnostic = false } = more
  return {
    protocol_version: 'rasp/1.0',
    type: diagnostic ? 'diagnostic.parser.warning' : 'agent.message.final',
    run_id: run,
    seq,
    ts: '2026-01-02T03:04:05.000Z',
    source: { engine: 'codex', parser: 'codex_ndjson', confidence: 0.95 },
    event: diagnostic
      ? { category: 'diagnostic', type: 'diagnostic.parser.warning' }
      : { category: 'agent', type: 'agent.message.final' },
    data: diagnostic
      ? { code: 'RAW_LINE', message: text, severity: 'warning', confidence: 0.3 }
      : { message_id: `m${seq}`, text },
    correlation: { event_id: `${run}-${attempt}-${seq}-${text.length}` },
    attempt_number: attempt,
    raw_ref: {
      attempt_number: attempt,
      stream: 'stdout',
      byte_from: seq * 10,
      byte_to: seq * 10 + 10,
      encoding: 'utf-8',
    },
  } as AgentEvent
}
