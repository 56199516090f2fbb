import type { Call, Say } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { durationOf, Rec } from '../../events/record.ts'
import { jsonIn } from '../calls.ts'
import { rows } from '../table.ts'
import { changesByPath, endOf, mcpName, sayChanges } from './shared.ts'

/** Functions that run a command; on stdout all of them are `command_execution`. */
const commands = new Set(['exec_command', 'shell', 'shell_command', 'local_shell', 'container.exec'])

/**
 * The calls of a rollout. A `response_item` has their start. Their end is recorded up to twice: by the
 * output that the model got, and by an event or an item that has the exit code. The first of them counts.
 */
export class Calls {
  /** Names of the open calls. */
  readonly #open = memory<string>((name) => name.length)
  readonly #ended = memory<true>(() => 0)

  start(payload: Rec, input: unknown, say: Say): void {
    const id = payload.text('call_id id') ?? ''
    const name = nameOf(payload.text('name') ?? 'local_shell')
    this.#open.set(id, name)
    say.started({ id, name, input })
  }

  /** Reports the end of a call, once. True if this was the first. */
  #end(call: Call, failed: boolean, say: Say): boolean {
    this.#open.take(call.id)
    if (this.#ended.get(call.id)) return false
    this.#ended.set(call.id, true)
    if (failed) say.failed(call)
    else say.completed(call)
    return true
  }

  /** The output that the model got. */
  output(payload: Rec, say: Say): void {
    const id = payload.text('call_id') ?? ''
    const name = this.#open.get(id)
    const told = name === undefined ? undefined : readOutput(payload, name)
    if (name === undefined || told === undefined) return
    this.#end({ id, name, ...told }, told.error !== undefined || (told.exit_code ?? 0) !== 0, say)
  }

  /** The item of a call that ended (0.166). */
  item(item: Rec, say: Say): void {
    const isCommand = item.at('type') === 'CommandExecution'
    const { call, failed, unclear } = endOf(
      item,
      isCommand
        ? {
            name: 'command_execution',
            input: { command: item.at('command') },
            output: item.at('aggregated_output'),
          }
        : { name: mcpName(item), input: item.at('arguments'), output: item.at('result') },
    )
    if (unclear && !failed) return
    if (item.at('type') === 'FileChange') this.patched(call.id, item, failed, say)
    else this.#end(call, failed, say)
  }

  /** A patch was applied, or not: an item, or a `patch_apply_end` (0.142). */
  patched(id: string, payload: Rec, failed: boolean, say: Say): void {
    const changes = changesByPath(payload.record('changes'))
    const call = {
      id,
      name: 'file_change',
      // As on stdout, without the written text, which can be long.
      input: { changes: changes.map(({ path, kind }) => ({ path, kind })) },
      output: payload.at('stdout') ?? undefined,
      error: failed ? payload.text('stderr') : undefined,
    }
    if (this.#end(call, failed, say) && !failed) sayChanges(changes, say)
  }
}

/** The `response_item` records. Messages and reasoning are recorded as events too, and are read there. */
export const responses = /* @__PURE__ */ rows<Calls>({
  called: 'response_item',
  quiet: 'message reasoning ghost_snapshot web_search_call compaction',
  on: {
    function_call: (payload, say, calls) => calls.start(payload, inputOf(payload), say),
    custom_tool_call: (payload, say, calls) => calls.start(payload, payload.at('input'), say),
    local_shell_call: (payload, say, calls) => calls.start(payload, payload.at('action'), say),
    'function_call_output, custom_tool_call_output': (payload, say, calls) => calls.output(payload, say),
  },
})

/** The name that `codex exec --json` uses for a function. */
function nameOf(name: string): string {
  if (commands.has(name)) return 'command_execution'
  return name === 'apply_patch' ? 'file_change' : name
}

/** The arguments of a function, with the command where stdout has it. */
function inputOf(payload: Rec): unknown {
  const given = jsonIn(payload.at('arguments'))
  const input = Rec.of(given)
  return input && commands.has(payload.text('name') ?? '') ? { command: input.at('command cmd') } : given
}

/** Maximum length of the head that Codex puts before the output of a command. */
const MAX_HEAD = 400
const exitWords = ['Process exited with code ', 'Exit code: ']
const WALL_TIME = 'Wall time: '
const RUNNING = 'Process running with session ID '

/**
 * What the output of a call contains: JSON with the exit code (0.74), or text with it (0.142). Nothing if the
 * command is still running. A command that never started, or a patch that was refused, has an output without
 * a head: it failed.
 */
function readOutput(
  payload: Rec,
  name: string,
): Pick<Call, 'output' | 'exit_code' | 'error' | 'duration_ms'> | undefined {
  const words = payload.record('output') ? payload.at('output.content') : payload.at('output')
  if (name !== 'command_execution' && name !== 'file_change') return { output: words }
  const json = Rec.of(jsonIn(words), 'metadata.exit_code:number')
  if (json) {
    const duration_ms = milliseconds(json.number('metadata.duration_seconds'))
    return { output: json.at('output'), exit_code: json.number('metadata.exit_code'), duration_ms }
  }
  const said = typeof words === 'string' ? words : ''
  const at = said.indexOf('Output:\n')
  const head = said.slice(0, at >= 0 && at < MAX_HEAD ? at : MAX_HEAD).split('\n')
  const exit = head.flatMap((line) => codeIn(line)).at(0)
  if (exit !== undefined) {
    const duration_ms = head.map(wallTime).find((time) => time !== undefined)
    return { output: at >= 0 ? said.slice(at + 'Output:\n'.length) : said, exit_code: exit, duration_ms }
  }
  if (head.some((line) => line.startsWith(RUNNING))) return undefined
  return { output: words, error: said }
}

/** The exit code in a line of the head. */
function codeIn(line: string): number[] {
  const words = exitWords.find((start) => line.startsWith(start))
  const code =
    words === undefined || line.length === words.length ? Number.NaN : Number(line.slice(words.length))
  return Number.isInteger(code) ? [code] : []
}

/** The duration in a line of the head. */
function wallTime(line: string): number | undefined {
  if (!line.startsWith(WALL_TIME) || !line.endsWith(' seconds')) return undefined
  return milliseconds(Number(line.slice(WALL_TIME.length, -' seconds'.length)))
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : durationOf(Math.round(seconds * 1000))
}
