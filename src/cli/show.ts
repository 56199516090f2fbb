import { chatStage } from '../chat/chat.ts'
import type { Event, ResultData } from '../events/event.ts'
import { jsonLine } from '../sinks/jsonl.ts'
import { drawing } from './draw.ts'
import { harmless, output } from './print.ts'

/**
 * Shows events: the drawn conversation on a terminal, NDJSON in a pipe or with `--json`. In a pipe the bytes are
 * those of `events.jsonl`; on a terminal what could steer it is escaped. False when nobody looks any more (`| head`).
 * `failed` is told why stdout cannot be written, before the events are left.
 */
export async function show(
  events: AsyncIterable<Event>,
  options: {
    readonly json?: boolean | undefined
    readonly draw?: boolean | undefined
    readonly failed?: ((error: Error) => void) | undefined
  },
): Promise<boolean> {
  const { isTTY } = process.stdout
  const write = output()
  const text =
    options.draw || (isTTY && !options.json) ? drawn() : (event: Event) => plain(jsonLine(event), isTTY)
  for await (const event of events) {
    try {
      if (!(await write(text(event)))) return false
    } catch (error) {
      options.failed?.(error as Error)
      throw error
    }
  }
  return true
}

function plain(line: string, isTTY: boolean): string {
  return isTTY ? harmless(line) : line
}

/** An event as the lines it adds to the conversation. */
function drawn(): (event: Event) => string {
  const { stdout, env } = process
  const draw = drawing({
    color: stdout.isTTY === true && stdout.hasColors() && !env['NO_COLOR'],
    width: () => stdout.columns || 80,
  })
  let lines = ''
  const sink = chatStage()({
    write(record) {
      lines += draw(record)
    },
    end() {},
  })
  let result: ResultData | undefined
  return (event) => {
    lines = ''
    sink.write(event)
    if (event.type === 'lifecycle.run.result') result = event.data
    if (event.type === 'lifecycle.completion.state') {
      lines += draw.end(result ? { ...event.data, result } : event.data)
      result = undefined
    }
    return lines
  }
}
