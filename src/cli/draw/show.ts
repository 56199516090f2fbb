import type { AgentEvent } from '../../events/event.ts'
import { jsonLine } from '../../streams/jsonl.ts'
import { summarizer } from '../../views/summary.ts'
import { flushed, linePrinter, output } from '../print.ts'
import { Drawing, type DrawOptions } from './drawing.ts'
import { columnsOf, type DrawFlags, isDrawn, wantsColor } from './flags.ts'
import { drawMarkdown } from './markdown.ts'
import { safe } from './safe.ts'
import { painter } from './wrap.ts'

export interface ShowOptions extends DrawFlags, Pick<DrawOptions, 'timed' | 'about'> {
  /** The run is live: a terminal shows its current activity. @default false */
  readonly live?: boolean | undefined
  /** A question is on the terminal, which nothing must overwrite. */
  readonly isAsking?: (() => boolean) | undefined
  /** Called if stdout cannot be written, before the loop over the events ends. */
  readonly failed?: ((error: Error) => void) | undefined
}

/**
 * Shows events: the drawn conversation on a terminal, NDJSON in a pipe or with `--json`. The lines are those
 * of `events.jsonl`, with the characters escaped that could control a terminal, because `tee` and `less` show
 * a pipe on one. False when the reader has left (`| head`).
 */
export async function show(events: AsyncIterable<AgentEvent>, options: ShowOptions): Promise<boolean> {
  if (options.quiet) return showAnswer(events, options)
  if (isDrawn(options)) return showDrawn(events, options)
  const print = guarded(options, linePrinter())
  for await (const event of events) {
    const open = print(jsonLine(event))
    if (open !== true && !(await open)) return false
  }
  return guarded(options, flushed)('')
}

async function showDrawn(events: AsyncIterable<AgentEvent>, options: ShowOptions): Promise<boolean> {
  const { full, verbose, timed, about } = options
  const write = guarded(options, output())
  const draw = new Drawing({ color: wantsColor(options), width: columnsOf, full, verbose, timed, about })
  const onScreen = options.live && process.stdout.isTTY && process.env['TERM'] !== 'dumb'
  // A failed write is reported with the next event.
  const line = liveLine(
    (text) => void process.stdout.write(text),
    onScreen ? (time) => (options.isAsking?.() ? '' : draw.now(time)) : undefined,
  )
  try {
    for await (const event of events) {
      const text = line.over(draw.write(event))
      if (text !== '' && !(await write(text))) return false
    }
  } finally {
    line.stop()
  }
  return write(draw.end())
}

/** Only the last message: drawn on a terminal, unchanged in a pipe. */
async function showAnswer(events: AsyncIterable<AgentEvent>, options: ShowOptions): Promise<boolean> {
  const facts = summarizer()
  for await (const event of events) facts.write(event)
  const { answer } = facts.summary()
  if (answer === undefined) {
    console.error('sluice: the agent gave no answer; sluice why explains what happened')
    return true
  }
  const drawn = isDrawn(options)
  const lines = drawn ? drawMarkdown(safe(answer), columnsOf(), painter(wantsColor(options))) : [answer]
  const text = lines.join('\n')
  await guarded(options, output())(text.endsWith('\n') ? text : `${text}\n`)
  return guarded(options, flushed)('')
}

/** Writes, and reports a failure before it is thrown. */
function guarded(
  { failed }: ShowOptions,
  write: (text: string) => true | Promise<boolean>,
): (text: string) => true | Promise<boolean> {
  return (text) => {
    const open = write(text)
    if (open === true) return true
    return open.catch((error) => {
      failed?.(error)
      throw error
    })
  }
}

/** Milliseconds without output after which the line is shown, and between two of its updates. */
const QUIET_MS = 150
const EVERY_MS = 1000

/**
 * A line below the drawn output that shows the current activity, overwritten by what comes next. It is shown
 * during pauses in the output: a burst of events shows none. It must not be wider than the terminal. Without
 * `line`, nothing is ever shown.
 */
function liveLine(write: (text: string) => void, line?: (time: number) => string) {
  let timer: NodeJS.Timeout | undefined
  let shown = ''

  const show = () => {
    const next = line?.(Date.now()) ?? ''
    if (next !== shown) write(wiped() + next)
    shown = next
    // Only a visible line can change by time alone.
    timer = next === '' ? undefined : setTimeout(show, EVERY_MS).unref()
  }
  const wiped = () => (shown === '' ? '' : '\r\u001b[K')

  return {
    /** Replaces the line with text: one write, so that nothing flickers. Without text the line stays. */
    over(text: string): string {
      if (!line) return text
      clearTimeout(timer)
      timer = setTimeout(show, QUIET_MS).unref()
      if (text === '') return ''
      const before = wiped()
      shown = ''
      return before + text
    },
    /** Removes the line for good. */
    stop() {
      clearTimeout(timer)
      if (shown !== '') write(wiped())
      shown = ''
    },
  }
}
