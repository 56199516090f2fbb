import type {
  ArtifactData,
  CompletionData,
  Event,
  EventOf,
  ResultData,
  ToolData,
} from '../../events/event.ts'
import { outcomeWords } from '../../events/run-outcome.ts'
import { summarizer } from '../../views/summary.ts'
import { callSubject, callText } from '../../views/tool-text.ts'
import { durationWords } from '../../views/words.ts'
import { endOf } from './end.ts'
import { drawMarkdown } from './markdown.ts'
import { type MarkdownPieces, markdownPieces } from './markdown-pieces.ts'
import { quoted } from './quoted.ts'
import { factLines, oneLine, rowsFor } from './rows.ts'
import { safe } from './safe.ts'
import { painter, type Style, styles } from './style.ts'
import { fitTo } from './width.ts'

/** What is known about an attempt besides its events. */
export interface About {
  /** The command that was run. */
  readonly argv?: readonly string[] | undefined
  /** When it started, ISO 8601. */
  readonly started?: string | undefined
  /** Where the run is recorded. */
  readonly audit?: string | undefined
}

export interface DrawOptions {
  readonly color: boolean
  /** Columns of the terminal; called each time, because it can be resized. */
  readonly width: () => number
  /** Fold and cut nothing. @default false */
  readonly full?: boolean | undefined
  /** Show every warning with its code, and the lines that were not understood. @default false */
  readonly verbose?: boolean | undefined
  /** The times of the events are those of the run, not those of reading it. @default false */
  readonly timed?: boolean | undefined
  readonly about?: ((attempt: number) => About) | undefined
}

/** Draws the events of a run, one after the other. */
export interface Drawing {
  /** The lines that an event adds. */
  write(event: Event): string
  /** The current activity, in one line: a running tool, a turn that waits. Empty if there is none. */
  now(time: number): string
  /** The rest of a message that did not end. */
  end(): string
}

/** Number of lines of each to show by default. */
const LINES = { output: 12, diff: 8, prompt: 3, reasoning: 6, command: 3 }
/** Minimum number of columns, on any terminal. */
const MIN_WIDTH = 20
/** Number of calls whose start is remembered. */
const MAX_CALLS = 10_000

/** Warnings about raw lines, which are counted themselves. */
const ofRawLines: ReadonlySet<string> = new Set(['RAW_LINE', 'LOW_CONFIDENCE_PARSE'])

/** What was drawn last: some kinds are separated by an empty line. */
type Kind = 'head' | 'user' | 'message' | 'step' | 'end'

interface Call {
  readonly data: ToolData
  readonly ts: string
  /** When it was drawn: a replay at its own pace has other times in its events. */
  readonly seen: number
}

/**
 * Draws a run for people, event by event: a head, messages as Markdown, each tool on one line with its
 * outcome, the end of the output of one that failed, the files, and a summary. Nothing an agent wrote can
 * control the terminal. Drawn lines are never changed, so the output is the same on a terminal and in a pipe.
 *
 * @example
 * const draw = drawing({ color: true, width: () => process.stdout.columns })
 * process.stdout.write(draw.write(event))
 */
export function drawing(options: DrawOptions): Drawing {
  const { color, full = false, verbose = false, timed = false } = options
  const paint = painter(color)
  const columns = () => Math.max(MIN_WIDTH, options.width())
  const { row, indented, folds, inMargin } = rowsFor({ paint, columns, full })
  let last: Kind | undefined
  let attempt: number | undefined
  let facts = summarizer()
  let headed = false
  let headModel: string | undefined
  /** The message whose pieces are being shown. */
  let streaming: { id: string; text: string; indent: number; pieces: MarkdownPieces } | undefined
  let calls = new Map<string, Call>()
  let retries: { count: number; message: string } | undefined
  /** A turn ended and nothing followed it yet. */
  let waiting = false
  let folded = { warnings: 0, retries: 0, raw: 0 }
  let result: ResultData | undefined
  let lastError: string | undefined

  /** Adds lines below what was drawn before. */
  const add = (kind: Kind, lines: readonly string[]): string => {
    if (lines.length === 0) return ''
    const apart = last !== undefined && (kind !== last || kind === 'message' || kind === 'user')
    last = kind
    return `${apart ? '\n' : ''}${lines.join('\n')}\n`
  }
  const head = (): string => {
    if (headed) return ''
    headed = true
    headModel = facts.summary().model
    const { engine, engine_version, model, cwd, session_id } = facts.summary()
    const { argv, started } = options.about?.(attempt ?? 1) ?? {}
    const name = [engine, engine_version].filter(Boolean).join(' ')
    const where = [
      cwd === undefined ? '' : `in ${cwd}`,
      started === undefined ? '' : `started ${started.slice(0, 19).replace('T', ' ')} UTC`,
      session_id === undefined ? '' : `session ${session_id}`,
    ]
    const title = oneLine(
      [name, model, (attempt ?? 1) > 1 ? `attempt ${attempt}` : ''].filter(Boolean).join(' · '),
    )
    const command =
      argv && argv.length > 0 ? indented(oneLine(`$ ${argv.map(quoted).join(' ')}`), 2, styles.dim) : []
    const more = command.length - LINES.command
    const shown = full || more <= 0 ? command : [...command.slice(0, LINES.command), folds(more)]
    return add('head', [
      row('●', styles.cyan, title, { look: styles.bold }),
      ...factLines(where, columns()).map((line) => paint(styles.dim, line)),
      ...shown,
    ])
  }

  /** Ends a message that is shown in pieces, and shows what was folded, before anything else is shown. */
  const settled = (keepsWaiting = false): string => {
    let text = head()
    if (streaming) {
      const { pieces, indent } = streaming
      streaming = undefined
      text += piecesOf(pieces.end(), indent)
    }
    if (waiting && !keepsWaiting) {
      waiting = false
      text += add('step', [row('?', styles.yellow, outcomeWords.needs_input, { look: styles.dim })])
    }
    if (retries) {
      const { count, message } = retries
      retries = undefined
      const words = count === 1 ? message : `${count} retries, the last: ${message}`
      text += add('step', [row('↻', styles.yellow, words, { look: styles.dim })])
    }
    return text
  }

  const piecesOf = (pieces: readonly string[], indent: number): string =>
    pieces
      .map((piece) => {
        const lines = drawMarkdown(safe(piece), columns() - indent, paint)
        return add(
          'message',
          lines.map((line) => (line === '' ? '' : ' '.repeat(indent) + line)),
        )
      })
      .join('')

  const delta = ({ message_id, text, parent_call_id }: EventOf<'agent.message.delta'>['data']): string => {
    let before = ''
    if (streaming?.id !== message_id) {
      before = settled()
      streaming = {
        id: message_id,
        text: '',
        indent: parent_call_id === undefined ? 0 : 2,
        pieces: markdownPieces(),
      }
    }
    streaming.text += text
    return before + piecesOf(streaming.pieces.write(text), streaming.indent)
  }

  const message = ({
    message_id,
    text,
    incomplete,
    parent_call_id,
  }: EventOf<'agent.message.final'>['data']): string => {
    const shown = streaming?.id === message_id && streaming.text === text
    let drawn = settled()
    if (!shown) {
      const pieces = markdownPieces()
      drawn += piecesOf([...pieces.write(text), ...pieces.end()], parent_call_id === undefined ? 0 : 2)
    }
    return incomplete ? drawn + add('step', [paint(styles.dim, '  (cut off)')]) : drawn
  }

  const toolRow = (data: ToolData, mark: string, style: Style, tail: readonly string[]): string =>
    row(mark, style, `${data.name} ${callSubject(data.input)}`.trim(), {
      tail: tail.map((part) => ` · ${part}`).join(''),
      indent: data.parent_call_id === undefined ? 0 : 2,
    })

  const finished = (event: EventOf<'tool.call.completed' | 'tool.call.failed'>): string => {
    const started = calls.get(event.data.call_id)
    calls.delete(event.data.call_id)
    const data = { ...event.data, input: event.data.input ?? started?.data.input }
    const failed = event.type === 'tool.call.failed'
    const took = data.duration_ms ?? (timed && started ? Date.parse(event.ts) - Date.parse(started.ts) : 0)
    const tail = [
      data.exit_code === undefined ? (failed ? 'failed' : '') : `exit ${data.exit_code}`,
      took > 0 ? durationWords(took) : '',
    ].filter(Boolean)
    const mark = failed ? toolRow(data, '✗', styles.red, tail) : toolRow(data, '✓', styles.green, tail)
    const text = failed || full ? callText(data) : ''
    const indent = data.parent_call_id === undefined ? 2 : 4
    const output = text === '' ? [] : inMargin(text, { most: LINES.output, from: 'end', indent })
    return settled() + add('step', [mark, ...output])
  }

  const file = (mark: string, style: Style, { path, diff }: ArtifactData): string => {
    const lines = diff === undefined ? [] : diff.trimEnd().split('\n')
    const changed = (sign: string) => lines.filter((line) => line[0] === sign && !isFileLine(line)).length
    const tail = diff === undefined ? '' : ` (+${changed('+')} −${changed('-')})`
    const body = lines.filter((line) => !isFileLine(line)).join('\n')
    const look = (line: string) =>
      line[0] === '+' ? styles.green : line[0] === '-' ? styles.red : styles.dim
    const shown = body === '' ? [] : inMargin(body, { most: LINES.diff, from: 'start', indent: 2, look })
    // The files are compared after the last turn.
    return settled(true) + add('step', [row(mark, style, path, { tail }), ...shown])
  }

  const diagnostic = ({
    type,
    data,
  }: EventOf<'diagnostic.parser.warning' | 'diagnostic.engine.error'>): string => {
    const { severity, code, message, retryable } = data
    const bad = severity === 'fatal' || (severity === 'error' && retryable !== true)
    if (bad || (verbose && severity !== 'info')) {
      // Some engines report an error and then, with the same message, that the turn failed.
      if (message === lastError && !verbose) return ''
      if (bad) lastError = message
      const words = verbose ? `${code}: ${message}` : message
      const [mark, style] = bad ? (['!', styles.red] as const) : (['!', styles.yellow] as const)
      // Never cut to the width: readers look for errors.
      const [first = '', ...rest] = indented(oneLine(words))
      return settled() + add('step', [`${paint(style, mark)} ${first.slice(2)}`, ...rest])
    }
    if (severity === 'info') return ''
    if (type === 'diagnostic.engine.error') {
      folded.retries++
      retries = { count: (retries?.count ?? 0) + 1, message }
    } else if (!ofRawLines.has(code)) folded.warnings++
    return ''
  }

  const raw = (line: string): string => {
    if (verbose) return settled() + add('step', [row('·', styles.dim, line, { look: styles.dim })])
    folded.raw++
    return ''
  }

  const user = (text: string): string => {
    const all = safe(text).trim().split('\n')
    const count = full ? all.length : Math.min(LINES.prompt, all.length)
    const lines = all.slice(0, count).map((line) => (full ? line : fitTo(line, columns() - 2)))
    const more = all.length - count
    return (
      settled() +
      add('user', [
        ...lines.flatMap((line, at) => {
          const [first = '', ...rest] = indented(line)
          return at === 0 ? [`${paint(styles.magenta, '>')} ${first.slice(2)}`, ...rest] : [first, ...rest]
        }),
        ...(more > 0 ? [folds(more)] : []),
      ])
    )
  }

  const reasoning = (text: string): string => {
    const lines = drawMarkdown(safe(text).trim(), columns() - 2, painter(false))
    const shown = full ? lines : lines.slice(0, LINES.reasoning)
    const more = lines.length - shown.length
    const thoughts = shown.map((line) => (line === '' ? '' : `  ${paint([2, 3], line)}`))
    return settled() + add('message', more > 0 ? [...thoughts, folds(more)] : thoughts)
  }

  const finish = (data: CompletionData): string => {
    let text = settled()
    for (const { data } of calls.values())
      text += add('step', [toolRow(data, '…', styles.yellow, ['did not finish'])])
    const { audit } = options.about?.(attempt ?? 1) ?? {}
    const seen = { completion: data, result, summary: facts.summary(), headModel, folded, audit }
    text += add('end', endOf(seen, { paint, columns, full, verbose, timed }))
    begin(undefined)
    return text
  }

  /** Forgets the attempt before. */
  const begin = (number: number | undefined) => {
    attempt = number
    facts = summarizer()
    headed = false
    streaming = undefined
    calls = new Map()
    retries = undefined
    waiting = false
    folded = { warnings: 0, retries: 0, raw: 0 }
    result = undefined
    lastError = undefined
  }

  const drawn = (event: Event): string => {
    switch (event.type) {
      case 'lifecycle.run.status':
        if (event.data.status === 'awaiting_user_input') waiting = true
        return ''
      case 'lifecycle.run.result':
        result = event.data
        return ''
      case 'lifecycle.completion.state':
        // The end says it.
        waiting = false
        return finish(event.data)
      case 'user.message':
        return user(event.data.text)
      case 'agent.message.delta':
        return delta(event.data)
      case 'agent.message.final':
        return message(event.data)
      case 'agent.reasoning.summary':
        return reasoning(event.data.text)
      case 'tool.call.started':
        if (calls.size < MAX_CALLS)
          calls.set(event.data.call_id, { data: event.data, ts: event.ts, seen: Date.now() })
        return ''
      case 'tool.call.completed':
      case 'tool.call.failed':
        return finished(event)
      case 'artifact.created':
        return file('+', styles.green, event.data)
      case 'artifact.modified':
        return file('~', styles.yellow, event.data)
      case 'artifact.deleted':
        return file('-', styles.red, event.data)
      case 'diagnostic.parser.warning':
      case 'diagnostic.engine.error':
        return diagnostic(event)
      case 'raw.stdout':
      case 'raw.stderr':
      case 'raw.pty':
        return raw(event.data.line)
    }
  }

  return {
    write(event) {
      let before = ''
      if (event.attempt_number !== attempt) {
        if (attempt !== undefined) before = settled()
        begin(event.attempt_number)
      }
      facts.write(event)
      // A conversation that has begun shows its head at once, because its first message may take long.
      if (event.correlation.session_id !== undefined) before += head()
      return before + drawn(event)
    },
    now(time) {
      const running = [...calls.values()].at(-1)
      if (running) {
        const took = time - running.seen
        const more = calls.size > 1 ? [`${calls.size - 1} more`] : []
        return toolRow(running.data, '▸', styles.cyan, [
          ...(took > 1000 ? [durationWords(took)] : []),
          ...more,
        ])
      }
      if (retries) return row('↻', styles.yellow, retries.message, { look: styles.dim })
      return waiting ? row('?', styles.yellow, outcomeWords.needs_input, { look: styles.dim }) : ''
    },
    end: () => (attempt === undefined ? '' : settled()),
  }
}

/** The lines of a diff that only name its files. */
function isFileLine(line: string): boolean {
  return (
    line.startsWith('+++ ') ||
    line.startsWith('--- ') ||
    line.startsWith('diff ') ||
    line.startsWith('index ')
  )
}
