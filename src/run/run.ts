import { defined, isName, isText, misfit } from '../base/check-options.ts'
import { engineOf } from '../engines/engine-name.ts'
import type { EventWithRecord } from '../events/event.ts'
import type { Schema, SchemaOutput } from '../values/schema/schema.ts'
import { AgentRun, checkReply, continued, failedRun } from './agent-run.ts'
import { withRounds } from './ask-again.ts'
import { recordedOptions } from './meta.ts'
import { recordedTurn } from './reply.ts'
import { type ReplyOptions, type Run, type RunCommand, type RunOptions, readCall } from './run-options.ts'

/**
 * Runs an agent and records it: raw output first, then what it means. The events are a flow; the audit
 * directory (`agent.audit`) has the same events afterwards, and `replay()` emits them again, byte for byte.
 * The engine is found by the shape of the output unless `engine` names it.
 *
 * If an earlier attempt in the directory was cut short by a crash, its events are completed first. Leaving
 * the flow early (`break`, an abort, a pipeline that fails) ends the process and all its descendants.
 *
 * @example
 * const agent = run('codex', ['exec', '--json', 'fix the test'], { signal })
 * for await (const event of agent) console.log(event.type)
 * const { ok, outcome, text, result, cost } = await agent.end
 * console.log(outcome) // 'succeeded', 'finished', 'needs_input', 'failed', 'cancelled' or 'unknown'
 */
export function run<S extends Schema | undefined = undefined>(
  command: string,
  args: readonly string[],
  options: RunOptions<S> & { readonly record: true },
): Run<SchemaOutput<S>, EventWithRecord>
export function run<S extends Schema | undefined = undefined>(
  command: string,
  args?: readonly string[],
  options?: RunOptions<S>,
): Run<SchemaOutput<S>>
/**
 * The same with everything in one object.
 *
 * @example
 * const agent = run({ command: 'codex', args: ['exec', '--json', 'fix the test'], engine: codex })
 * for await (const event of agent) console.log(event.type)
 */
export function run<S extends Schema | undefined = undefined>(options: RunCommand<S>): Run<SchemaOutput<S>>
export function run(called: string | RunCommand, given?: readonly string[], more?: RunOptions): Run {
  // Nothing is thrown here: a caller handles what goes wrong in one place.
  try {
    return startRun(called, given, more)
  } catch (error) {
    return failedRun(error as Error)
  }
}

/** The same, but throws what is known at once: an option that cannot be used, a directory that is locked. */
export function startRun(called: string | RunCommand, given?: readonly string[], more?: RunOptions): Run {
  const options = readCall(called, given, more)
  return withRounds(new AgentRun(options).start(), options.rounds)
}

/** A run that is recorded in passing: stdin and stdout are ours, passed on byte for byte. */
export function teeRun(options: RunCommand): Run {
  return new AgentRun(readCall(options), { tee: true }).start()
}

/**
 * Continues a recorded run in the agent's own session, also days later and from another process: the next
 * attempt in its directory. The command is that of the last attempt, with its options, in the directory it
 * ran in; the text goes to its stdin. If that cannot be done, it fails with CANNOT_REPLY, and starts nothing.
 *
 * @example
 * const { ok, text } = await reply('.audit/latest', 'and now the docs').end
 */
export function reply<S extends Schema | undefined = undefined>(
  dir: string,
  text: string,
  options?: ReplyOptions<S>,
): Run<SchemaOutput<S>>
export function reply(dir: string, text: string, options: ReplyOptions = {}): Run {
  try {
    return startReply(dir, text, options)
  } catch (error) {
    return failedRun(error as Error)
  }
}

/** The same, but throws what is known at once. */
export function startReply(dir: string, text: string, options: ReplyOptions = {}): Run {
  checkReply(options, REPLY)
  if (!isName(dir)) throw misfit('reply', 'a directory', dir, REPLY)
  if (!isText(text)) throw misfit('reply', 'a text', text, REPLY)
  const given = options.engine === undefined ? undefined : engineOf(options.engine)
  const { cwd, reading, redact, control, ...turn } = recordedTurn(dir, given)
  const { talk = turn.talk } = options
  const before = { engine: turn.engine, redact, control, ...recordedOptions(reading) }
  const next = continued({ ...turn, talk }, text, { ...before, ...defined(options), talk, audit: dir, cwd })
  return withRounds(next, options.rounds ?? 0)
}

const REPLY = 'reply(".audit/latest", "and now the docs")'
