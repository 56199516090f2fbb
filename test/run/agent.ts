import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codex } from '../../src/engines/codex/codex.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { run } from '../../src/run/run.ts'
import type { RunCommand } from '../../src/run/run-options.ts'

/** A fresh working directory with its audit directory inside. */
export function workspace(): { cwd: string; audit: string } {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-run-'))
  return { cwd, audit: join(cwd, '.audit') }
}

export const codexLines = [
  '{"type":"thread.started","thread_id":"t-1"}',
  '{"type":"turn.started"}',
  '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Grüße — done."}}',
  '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":2}}',
]

/**
 * A program of its own that runs under this Node, as a toy agent: `say(line)` writes, the rest is plain
 * JavaScript.
 */
export function agent(cwd: string, body: string): Pick<RunCommand, 'command' | 'args'> {
  const path = join(cwd, 'agent.mjs')
  writeFileSync(
    path,
    `import fs from 'node:fs'
    const lines = ${JSON.stringify(codexLines)}
    const say = (line) => fs.writeSync(1, line + '\\n')
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
    ${body}`,
  )
  return { command: process.execPath, args: [path] }
}

/** Runs it to its end. */
export async function ran(options: RunCommand) {
  const live = run({ engine: codex, fsDiff: false, ...options })
  const events: AgentEvent[] = []
  for await (const event of live) events.push(event)
  return { events, end: await live.end }
}

export const types = (events: readonly AgentEvent[]) => events.map((event) => event.type)
export const codesOf = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => ('code' in event.data ? [event.data.code] : []))
