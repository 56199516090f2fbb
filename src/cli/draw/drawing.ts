import { askWords, callSubject, callText } from '../../events/call-words.ts'
import type { AgentEvent, CompletionData, ResultData } from '../../events/event.ts'
import {
  Conversation,
  type FileItem,
  type Item,
  type MessageItem,
  type NoteItem,
  type RequestItem,
  type ThoughtItem,
  type ToolItem,
} from '../../views/conversation.ts'
import { answerWords, choiceLines } from '../../views/tool-text.ts'
import { durationWords, shellWord } from '../../views/words.ts'
import { endOf } from './end.ts'
import { drawMarkdown, type MarkdownPieces, markdownPieces } from './markdown.ts'
import { factLines, foldBinary, type Look, oneLine, type Rows, rowsFor } from './row-layout.ts'
import { safe } from './safe.ts'
import { fitTo } from './width.ts'
import { painter, type Style, styles } from './wrap.ts'

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

/** Number of lines of each to show by default. */
const LINES = { output: 12, diff: 8, prompt: 3, reasoning: 6, command: 3 }
/** The current activity after the end of a turn. */
const TURN_OVER = 'turn finished, waiting for input'
/** Minimum number of columns, on any terminal. */
const MIN_WIDTH = 20
/** Warnings about raw lines, which are counted themselves. */
const ofRawLines: ReadonlySet<string> = new Set(['RAW_LINE', 'LOW_CONFIDENCE_PARSE'])

/** What was drawn last: some kinds are separated by an empty line. */
type Kind = 'head' | 'user' | 'message' | 'step' | 'end'

interface Shown {
  text: string
  /** Its lines, and those of them that are folded away since the last time that was said. */
  lines: number
  folded: number
}

/** What is known of the attempt that is being drawn. */
class Drawn {
  /** Undefined before the first attempt and after the end of one. */
  readonly attempt: number | undefined
  readonly talk = new Conversation()
  /** When the start of a call was drawn: a replay at its own pace has other times in its events. */
  readonly seen = new WeakMap<ToolItem, number>()
  headed = false
  headModel: string | undefined
  /** The message or thought whose pieces are being shown. */
  streaming: { readonly item: MessageItem | ThoughtItem; readonly pieces: MarkdownPieces } | undefined
  /** What was shown of it in pieces: others may speak in between. */
  readonly shown = new WeakMap<MessageItem | ThoughtItem, Shown>()
  retries: { readonly count: number; readonly message: string } | undefined
  /** A turn ended and nothing followed it yet. */
  waiting = false
  readonly folded = { warnings: 0, retries: 0, raw: 0 }
  result: ResultData | undefined
  lastError: string | undefined

  constructor(attempt?: number) {
    this.attempt = attempt
  }
}

/**
 * Draws a run for people, event by event: a head, messages as Markdown, each tool on one line with its
 * outcome, the end of the output of one that failed, the files, and a summary. Nothing an agent wrote can
 * control the terminal. Drawn lines are never changed, so the output is the same on a terminal and in a pipe.
 *
 * @example
 * const draw = new Drawing({ color: true, width: () => process.stdout.columns })
 * process.stdout.write(draw.write(event))
 */
export class Drawing {
  readonly #options: DrawOptions
  readonly #look: Look
  readonly #rows: Rows
  #last: Kind | undefined
  #now = new Drawn()

  constructor(options: DrawOptions) {
    this.#options = options
    this.#look = {
      paint: painter(options.color),
      columns: () => Math.max(MIN_WIDTH, options.width()),
      full: options.full ?? false,
    }
    this.#rows = rowsFor(this.#look)
  }

  /** The lines that an event adds. */
  write(event: AgentEvent): string {
    let before = ''
    if (event.attempt_number !== this.#now.attempt) {
      before = this.end()
      this.#now = new Drawn(event.attempt_number)
    }
    const item = this.#now.talk.take(event)
    // A conversation that has begun shows its head at once, because its first message may take long.
    if (event.correlation.session_id !== undefined) before += this.#head()
    return before + this.#draw(item)
  }

  /** The current activity, in one line: a running tool, a turn that waits. Empty if there is none. */
  now(time: number): string {
    const { talk, seen, retries, waiting } = this.#now
    const { row } = this.#rows
    const { running, asked } = talk
    const [open] = asked
    if (open)
      return row('?', styles.yellow, askWords(open), {
        tail: asked.length > 1 ? ` · ${asked.length - 1} more` : ' · waits for an answer',
      })
    const call = running.at(-1)
    if (call) {
      const took = time - seen.get(call)!
      return this.#toolRow(call, '▸', styles.cyan, [
        ...(took > 1000 ? [durationWords(took)] : []),
        ...(running.length > 1 ? [`${running.length - 1} more`] : []),
      ])
    }
    if (retries) return row('↻', styles.yellow, retries.message, { look: styles.dim })
    return waiting ? row('?', styles.yellow, TURN_OVER, { look: styles.dim }) : ''
  }

  /** The rest of a message that did not end. */
  end(): string {
    return this.#now.attempt === undefined ? '' : this.#settled()
  }

  #draw(item: Item): string {
    switch (item.kind) {
      case 'status':
        if (item.status === 'awaiting_user_input') this.#now.waiting = true
        return ''
      case 'result':
        this.#now.result = item.result
        return ''
      case 'end':
        // The end says it.
        this.#now.waiting = false
        return this.#finish(item.end)
      case 'request':
        return item.by === undefined ? '' : this.#request(item)
      case 'prompt':
        return this.#prompt(item.text)
      case 'message':
      case 'reasoning':
        return item.growing ? this.#piece(item) : this.#whole(item)
      case 'tool':
        if (item.state !== 'running') return this.#tool(item)
        this.#now.seen.set(item, Date.now())
        return ''
      case 'artifact':
        return this.#file(item)
      case 'diagnostic':
        return this.#note(item)
      case 'raw':
        return this.#raw(item.lines.at(-1)!)
    }
  }

  /** Adds lines below what was drawn before. */
  #add(kind: Kind, lines: readonly string[]): string {
    if (lines.length === 0) return ''
    const apart = this.#last !== undefined && (kind !== this.#last || kind === 'message' || kind === 'user')
    this.#last = kind
    return `${apart ? '\n' : ''}${lines.join('\n')}\n`
  }

  #head(): string {
    const now = this.#now
    if (now.headed) return ''
    now.headed = true
    const { paint, columns, full } = this.#look
    const { row, indented, folds } = this.#rows
    const { engine, engine_version, model, cwd, session_id } = now.talk.summary()
    now.headModel = model
    const attempt = now.attempt ?? 1
    const { argv, started } = this.#options.about?.(attempt) ?? {}
    const name = [engine, engine_version].filter(Boolean).join(' ')
    const where = [
      cwd === undefined ? '' : `in ${cwd}`,
      started === undefined ? '' : `started ${started.slice(0, 19).replace('T', ' ')} UTC`,
      session_id === undefined ? '' : `session ${session_id}`,
    ]
    const title = oneLine([name, model, attempt > 1 ? `attempt ${attempt}` : ''].filter(Boolean).join(' · '))
    const command =
      argv && argv.length > 0 ? indented(oneLine(`$ ${argv.map(shellWord).join(' ')}`), 2, styles.dim) : []
    const more = command.length - LINES.command
    const shown = full || more <= 0 ? command : [...command.slice(0, LINES.command), folds(more)]
    return this.#add('head', [
      row('●', styles.cyan, title, { look: styles.bold }),
      ...factLines(where, columns()).map((line) => paint(styles.dim, line)),
      ...shown,
    ])
  }

  /** Ends a message that is shown in pieces, and shows what was folded, before anything else is shown. */
  #settled(keepsWaiting = false): string {
    const now = this.#now
    const { row } = this.#rows
    let text = this.#head()
    if (now.streaming) {
      const { pieces, item } = now.streaming
      now.streaming = undefined
      text += this.#pieces(pieces.end(), item)
      const shown = this.#shownOf(item)
      if (shown.folded > 0) text += `${this.#rows.folds(shown.folded)}\n`
      shown.folded = 0
    }
    if (now.waiting && !keepsWaiting) {
      now.waiting = false
      text += this.#add('step', [row('?', styles.yellow, TURN_OVER, { look: styles.dim })])
    }
    if (now.retries) {
      const { count, message } = now.retries
      now.retries = undefined
      const words = count === 1 ? message : `${count} retries, the last: ${message}`
      text += this.#add('step', [row('↻', styles.yellow, words, { look: styles.dim })])
    }
    return text
  }

  #shownOf(item: MessageItem | ThoughtItem): Shown {
    const known = this.#now.shown.get(item) ?? { text: '', lines: 0, folded: 0 }
    this.#now.shown.set(item, known)
    return known
  }

  #pieces(pieces: readonly string[], item: MessageItem | ThoughtItem): string {
    const { paint, columns, full } = this.#look
    const indent = item.nested ? 2 : 0
    return pieces
      .map((piece) => {
        if (item.kind === 'reasoning') return this.#thought(piece, this.#shownOf(item))
        const lines = drawMarkdown(safe(full ? piece : foldBinary(piece)), columns() - indent, paint)
        return this.#add(
          'message',
          lines.map((line) => (line === '' ? '' : ' '.repeat(indent) + line)),
        )
      })
      .join('')
  }

  #piece(item: MessageItem | ThoughtItem): string {
    const before = this.#now.streaming?.item === item ? '' : this.#settled()
    this.#now.streaming ??= { item, pieces: markdownPieces() }
    this.#shownOf(item).text += item.piece
    return before + this.#pieces(this.#now.streaming.pieces.write(item.piece), item)
  }

  /** A whole message or thought: what its pieces have not shown of it. */
  #whole(item: MessageItem | ThoughtItem): string {
    const { text } = this.#shownOf(item)
    const goesOn = item.text.startsWith(text)
    const rest = goesOn ? item.text.slice(text.length) : item.text
    const drawn =
      rest === ''
        ? this.#settled()
        : (goesOn ? '' : this.#settled()) +
          this.#piece(Object.assign(item, { piece: rest })) +
          this.#settled()
    return item.incomplete ? drawn + this.#add('step', [this.#look.paint(styles.dim, '  (cut off)')]) : drawn
  }

  #toolRow(item: ToolItem, mark: string, style: Style, tail: readonly string[]): string {
    return this.#rows.row(mark, style, `${item.name} ${callSubject(item.lateInput ?? item.input)}`.trim(), {
      tail: tail.map((part) => ` · ${part}`).join(''),
      indent: item.nested ? 2 : 0,
    })
  }

  #tool(item: ToolItem): string {
    const failed = item.state === 'failed'
    const took = (this.#options.timed ? item.milliseconds : item.measured) ?? 0
    const word = failed ? (item.denied ? 'denied' : 'failed') : ''
    const tail = [
      item.exitCode === undefined ? word : `exit ${item.exitCode}`,
      took > 0 ? durationWords(took) : '',
    ].filter(Boolean)
    const [mark, style] = failed ? (['✗', styles.red] as const) : (['✓', styles.green] as const)
    const text = failed || this.#look.full ? callText(item) : ''
    const indent = item.nested ? 4 : 2
    const output = text === '' ? [] : this.#rows.inMargin(text, { most: LINES.output, from: 'end', indent })
    return this.#settled() + this.#add('step', [this.#toolRow(item, mark, style, tail), ...output])
  }

  #request(item: RequestItem): string {
    const { row, inMargin } = this.#rows
    const asked = row('?', styles.yellow, askWords(item), { tail: ` · ${answerWords(item)}` })
    const choices = item.request.questions || this.#look.full ? choiceLines(item).join('\n') : ''
    const shown = choices === '' ? [] : inMargin(choices, { most: LINES.output, from: 'start', indent: 2 })
    return this.#settled() + this.#add('step', [asked, ...shown])
  }

  #file({ change, path, diff }: FileItem): string {
    const lines = diff === undefined ? [] : diff.trimEnd().split('\n')
    const changed = (sign: string) => lines.filter((line) => line[0] === sign && !isFileLine(line)).length
    const tail = diff === undefined ? '' : ` (+${changed('+')} −${changed('-')})`
    const body = lines.filter((line) => !isFileLine(line)).join('\n')
    const look = (line: string) =>
      line[0] === '+' ? styles.green : line[0] === '-' ? styles.red : styles.dim
    const [mark, style] = fileMarks[change]
    const { row, inMargin } = this.#rows
    const shown = body === '' ? [] : inMargin(body, { most: LINES.diff, from: 'start', indent: 2, look })
    // The files are compared after the last turn.
    return this.#settled(true) + this.#add('step', [row(mark, style, path, { tail }), ...shown])
  }

  #note({ severity, code, message, retryable }: NoteItem): string {
    const now = this.#now
    const verbose = this.#options.verbose === true
    const bad = severity === 'fatal' || (severity === 'error' && !retryable)
    if (bad || (verbose && severity !== 'info')) {
      // Some engines report an error and then, with the same message, that the turn failed.
      if (message === now.lastError && !verbose) return ''
      if (bad) now.lastError = message
      const words = verbose ? `${code}: ${message}` : message
      // Never cut to the width: readers look for errors.
      const [first = '', ...rest] = this.#rows.indented(oneLine(words))
      const mark = this.#look.paint(bad ? styles.red : styles.yellow, '!')
      return this.#settled() + this.#add('step', [`${mark} ${first.slice(2)}`, ...rest])
    }
    if (severity === 'info') return ''
    if (retryable) {
      now.folded.retries++
      now.retries = { count: (now.retries?.count ?? 0) + 1, message }
    } else if (!ofRawLines.has(code)) now.folded.warnings++
    return ''
  }

  #raw(line: string): string {
    if (this.#options.verbose)
      return (
        this.#settled() + this.#add('step', [this.#rows.row('·', styles.dim, line, { look: styles.dim })])
      )
    this.#now.folded.raw++
    return ''
  }

  #prompt(text: string): string {
    const { paint, columns, full } = this.#look
    const { indented, folds } = this.#rows
    const all = safe(text).trim().split('\n')
    const count = full ? all.length : Math.min(LINES.prompt, all.length)
    const lines = all.slice(0, count).map((line) => (full ? line : fitTo(line, columns() - 2)))
    const more = all.length - count
    return (
      this.#settled() +
      this.#add('user', [
        ...lines.flatMap((line, at) => {
          const [first = '', ...rest] = indented(line)
          return at === 0 ? [`${paint(styles.magenta, '>')} ${first.slice(2)}`, ...rest] : [first, ...rest]
        }),
        ...(more > 0 ? [folds(more)] : []),
      ])
    )
  }

  /** A piece of a thought, of which the first lines are shown. */
  #thought(piece: string, shown: Shown): string {
    const { paint, columns, full } = this.#look
    const lines = drawMarkdown(safe(piece).trim(), columns() - 2, painter(false))
    const begins = shown.lines === 0
    const all = begins || lines.length === 0 ? lines : ['', ...lines]
    const room = full ? all.length : Math.max(0, LINES.reasoning - shown.lines)
    shown.lines += all.length
    shown.folded += Math.max(0, all.length - room)
    const drawn = all.slice(0, room).map((line) => (line === '' ? '' : `  ${paint([2, 3], line)}`))
    return begins ? this.#add('message', drawn) : drawn.map((line) => `${line}\n`).join('')
  }

  #finish(completion: CompletionData): string {
    let text = this.#settled()
    const { attempt, talk, headModel, folded, result } = this.#now
    for (const call of talk.running)
      text += this.#add('step', [this.#toolRow(call, '…', styles.yellow, ['did not finish'])])
    const { audit } = this.#options.about?.(attempt ?? 1) ?? {}
    const { verbose = false, timed = false } = this.#options
    const seen = { completion, result, summary: talk.summary(), headModel, folded, audit }
    text += this.#add('end', endOf(seen, { ...this.#look, verbose, timed }))
    this.#now = new Drawn()
    return text
  }
}

const fileMarks = {
  created: ['+', styles.green],
  modified: ['~', styles.yellow],
  deleted: ['-', styles.red],
} as const

/** The lines of a diff that only name its files. */
function isFileLine(line: string): boolean {
  return ['+++ ', '--- ', 'diff ', 'index '].some((start) => line.startsWith(start))
}
