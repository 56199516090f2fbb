import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentEvent, EventData, EventType } from '../../src/events/event.ts'

/** The output of the one command that fails in a large run. */
export const NEEDLE = 'expected 03:00, got 02:00'

/**
 * A finished run of so many events as a recorder leaves it: messages, thoughts, commands, files. One command
 * fails, at three quarters, and each event points at its own line of the log. It says which event tells the
 * failure.
 */
export function putLargeRun(dir: string, name: string, count: number): { failed: number } {
  const path = join(dir, name)
  mkdirSync(path, { recursive: true })
  const log = openSync(join(path, 'stdout.1.log'), 'w')
  const journal = openSync(join(path, 'events.jsonl'), 'w')
  let at = 0
  let seq = 0
  let logText = ''
  let journalText = ''
  const begin = Date.parse('2026-11-15T10:00:00Z')

  const flush = () => {
    writeSync(log, logText)
    writeSync(journal, journalText)
    logText = journalText = ''
  }
  const put = <T extends EventType>(type: T, data: EventData[T]) => {
    seq++
    const line = `${JSON.stringify({ type: `item.${seq}`, ...data })}\n`
    const size = Buffer.byteLength(line)
    logText += line
    const [category] = type.split('.')
    const event = {
      protocol_version: 'rasp/1.0',
      type,
      run_id: name,
      seq,
      ts: new Date(begin + seq * 37).toISOString(),
      source: { engine: 'codex', parser: 'codex_ndjson', confidence: 0.95 },
      event: { category, type },
      data,
      correlation: { session_id: 's', event_id: `${name}:1:stdout:${at}-${at + size}:0` },
      attempt_number: 1,
      raw_ref: {
        attempt_number: 1,
        stream: 'stdout',
        byte_from: at,
        byte_to: at + size,
        encoding: 'utf-8',
      },
    } as unknown as AgentEvent
    journalText += `${JSON.stringify(event)}\n`
    at += size
    if (journalText.length > 1 << 20) flush()
    return seq
  }

  let failed = 0
  put('lifecycle.run.status', { status: 'started', model: 'gpt-5', cwd: '/srv/clock' })
  put('user.message', { text: 'Make every test of the clock pass, also in winter.' })
  for (let n = 0; seq < count - 2; n++) {
    const call_id = `c${n}`
    const command = `npm test -- part-${n}`
    if (n % 4 === 0)
      put('agent.message.final', {
        message_id: `m${n}`,
        text: `## Step ${n}\n\nI run **part ${n}** of the tests and look at \`src/part-${n}.js\`:\n\n- first the old ones\n- then the new ones\n\n\`\`\`js\nexport const part = ${n}\n\`\`\``,
      })
    if (n % 7 === 0)
      put('agent.reasoning.summary', {
        message_id: `t${n}`,
        text: `**Weighing part ${n}**\n\nIt may be slow.`,
      })
    if (n % 9 === 0)
      put('artifact.modified', {
        path: `src/part-${n}.js`,
        diff: `@@ -1 +1 @@\n-export const part = 0\n+export const part = ${n}`,
      })
    put('tool.call.started', { call_id, name: 'command_execution', kind: 'execute', input: { command } })
    const output = Array.from({ length: 6 }, (_, line) => `  ✓ part ${n}, case ${line} (${line} ms)`).join(
      '\n',
    )
    if (failed === 0 && seq > count * 0.75)
      failed = put('tool.call.failed', {
        call_id,
        kind: 'execute',
        name: 'command_execution',
        input: { command },
        output: `${output}\n  ✕ adds a day across a change of the clocks\n    ${NEEDLE}\n`,
        exit_code: 1,
        duration_ms: 412,
      })
    else
      put('tool.call.completed', {
        call_id,
        kind: 'execute',
        name: 'command_execution',
        input: { command },
        output,
        exit_code: 0,
      })
  }
  while (seq < count - 1) put('lifecycle.run.status', { status: 'turn_completed' })
  put('lifecycle.completion.state', {
    state: 'completed',
    reason_code: 'DONE_MARKER',
    outcome: 'succeeded',
    ok: true,
    evidence: {
      done_marker: true,
      end_signal: null,
      failure: null,
      exit_code: 0,
      signal: null,
      truncated: false,
    },
    tokens: { input: 812_000, output: 44_100, cached: 700_000 },
  })
  flush()
  closeSync(log)
  closeSync(journal)
  return { failed }
}
