import { createInterface } from 'node:readline'
import { badOption, Fault } from '../../base/fault.ts'
import { type AgentEvent, type AgentRequest, isEvent, type RequestOption } from '../../events/event.ts'
import type { Run } from '../../run/run-options.ts'
import { nobodyAnswers, type RequestAnswer } from '../../run/talk.ts'
import { pretty } from '../../views/tool-text.ts'
import { safe } from '../draw/safe.ts'

/**
 * Answers the requests of an agent from our stdin: a person on a terminal, or a program that writes
 * `{"answer": "<id>", "option": "<id or kind>"}` lines. When stdin has ended, nobody answers.
 */
export function asker(agent: Run) {
  const person = process.stdin.isTTY ? new Person(agent) : undefined
  const lines = createInterface({ input: process.stdin, terminal: false })
  lines.on('line', (line) => (person ? person.hear(line) : answerLine(agent, line)))
  lines.on('close', () => nobodyAnswers(agent))
  return {
    /** Passes events on, and asks after the event that asks was shown. */
    async *watch(events: AsyncIterable<AgentEvent>): AsyncGenerator<AgentEvent> {
      for await (const event of events) {
        yield event
        person?.see(event)
      }
    },
    /** A question is on the terminal. */
    isAsking: () => person?.isAsking() ?? false,
    stop() {
      lines.close()
      // It must not keep this process alive when the agent is gone.
      process.stdin.unref?.()
    },
  }
}

const SHAPE = '{"answer": "<id>", "option": "<id or kind>"}'

/** Takes a line of a program; what is wrong with it is said on stderr, and allows nothing. */
function answerLine(agent: Run, line: string): void {
  if (line.trim() === '') return
  try {
    // Cast: JSON of another program, whose fields are checked here and by `answer`.
    const { answer: id, option, answers } = JSON.parse(line) as Record<string, unknown>
    if (typeof id !== 'string') throw badOption(`a line must be ${SHAPE}`)
    give(agent, id, (answers === undefined ? option : { answers }) as RequestAnswer)
  } catch (error) {
    tell(Fault.is(error) ? error.message : `a line on stdin is not JSON; it must be ${SHAPE}`)
  }
}

function give(agent: Run, id: string, answer: RequestAnswer): void {
  if (!agent.answer(id, answer)) tell(`${safe(id).slice(0, 80)} is not open, so nothing was sent`)
}

function tell(words: string): void {
  console.error(`sluice: ${safe(words)}`)
}

/** More than this of a command or a diff is not shown, but its length is. */
const MAX_SHOWN = 20_000
/** What was typed sooner after a request was shown is about the one before it. */
const MIN_READ_MS = 300

/** A person on a terminal, who is asked one thing after the other. */
class Person {
  readonly #agent: Run
  readonly #open: AgentRequest[] = []
  /** When the request was shown. */
  #asked = 0
  /** The answers so far to the questions of the request that is asked. */
  #answers: (string | readonly string[])[] = []

  constructor(agent: Run) {
    this.#agent = agent
  }

  isAsking(): boolean {
    return this.#open.length > 0
  }

  see(event: AgentEvent): void {
    if (!isEvent(event, 'lifecycle.run.status')) return
    const { request, request_id } = event.data
    if (request && this.#open.push(request) === 1) this.#ask()
    const at = this.#open.findIndex(({ id }) => id === request_id)
    if (at < 0) return
    this.#open.splice(at, 1)
    if (at > 0) return
    process.stderr.write('\n')
    this.#next()
  }

  /** Takes what was typed. */
  hear(line: string): void {
    const [request] = this.#open
    const word = line.trim()
    if (!request) return
    const { questions, id } = request
    if (performance.now() - this.#asked < MIN_READ_MS) {
      this.#prompt()
      return
    }
    const question = questions?.[this.#answers.length]
    if (!question) {
      const option = chosen(request, word)
      if (option === undefined) this.#prompt()
      else this.#give(id, option)
    } else if (word === '') this.#give(id, rejection(request))
    else {
      const offered = word.split(/[ ,]+/).map((number) => question.options[Number(number) - 1]?.label)
      const labels = offered.filter((label) => label !== undefined)
      this.#answers.push(labels.length === offered.length ? labels : word)
      if (this.#answers.length < questions!.length) this.#prompt()
      else {
        const answers = questions!.map((one, at) => [one.id, this.#answers[at]!])
        this.#give(id, { answers: Object.fromEntries(answers) })
      }
    }
  }

  #give(id: string, answer: RequestAnswer): void {
    try {
      give(this.#agent, id, answer)
    } catch (error) {
      // The agent takes no answers to its questions, or has two options with one id.
      tell((error as Error).message) // cast: `answer` throws only Faults
      give(this.#agent, id, 'cancel')
    }
    this.#open.shift()
    this.#next()
  }

  #next(): void {
    this.#answers = []
    if (this.#open.length > 0) this.#ask()
  }

  /** Shows all of what is asked. */
  #ask(): void {
    const { tool, title, reason = '', input, options, questions } = this.#open[0]!
    const text = wordsOf(input) || title
    const why = text.includes(reason) ? [] : [`(the model says: ${reason})`]
    const more = text.length > MAX_SHOWN ? `\n… ${text.length} characters in all` : ''
    const rows = options.map(({ label, kind }, at) => `  ${at + 1} ${label} (${kind})`)
    const head = `\n${tool} asks:${text.includes(title) ? '' : ` ${title}`}`
    const shown = questions ? '' : [head, text.slice(0, MAX_SHOWN) + more, ...why, ...rows].join('\n')
    process.stderr.write(`${safe(shown)}\n`)
    this.#asked = performance.now()
    this.#prompt()
  }

  #prompt(): void {
    const request = this.#open[0]!
    const question = request.questions?.[this.#answers.length]
    if (!question) {
      const once = only(request, 'allow_once') ? '[o]nce, ' : ''
      const always = only(request, 'allow_always') ? '[a]lways, ' : ''
      process.stderr.write(`${once}${always}[n]o, or the number of an option: `)
      return
    }
    const offered = question.options.map(
      ({ label, description }, at) => `\n  ${at + 1} ${label}${description ? ` – ${description}` : ''}`,
    )
    process.stderr.write(
      safe(`${question.question}${offered.join('')}\nnumber, or text (empty: no answer): `),
    )
  }
}

/** The option for a word that was typed; undefined if it is none. */
function chosen(request: AgentRequest, word: string): string | undefined {
  if (/^no?$/i.test(word)) return rejection(request)
  if (/^o(?:nce)?$/i.test(word)) return only(request, 'allow_once')?.id
  if (/^a(?:lways)?$/i.test(word)) return only(request, 'allow_always')?.id
  return request.options[Number(word) - 1]?.id
}

function only({ options }: AgentRequest, kind: RequestOption['kind']): RequestOption | undefined {
  const all = options.filter((option) => option.kind === kind)
  return all.length === 1 ? all[0] : undefined
}

function rejection(request: AgentRequest): string {
  return only(request, 'reject_once')?.id ?? 'cancel'
}

/** All of the input: a command as it is, changes as lines, and anything else by its name. */
function wordsOf(input: unknown): string {
  if (typeof input !== 'object' || input === null) return typeof input === 'string' ? input : ''
  const { command, title, changes, ...more } = input as Record<string, unknown> // cast: an object
  const others = Object.entries({ ...more, ...(command === undefined ? {} : { title }) })
  return [
    pretty(command ?? title),
    ...(Array.isArray(changes) ? changes.map(changeWords) : [pretty(changes)]),
    ...others.map(([name, value]) => (value === undefined ? '' : `${name}: ${pretty(value)}`)),
  ]
    .filter((words) => words !== '')
    .join('\n')
}

/** A diff, or the text before and after. */
function changeWords(change: unknown): string {
  const { path, diff, oldText, newText, ...rest } = Object(change) as Record<string, unknown> // cast: JSON
  const marked = (sign: string, text: unknown) =>
    typeof text === 'string' && text !== '' ? text.split('\n').map((line) => `${sign} ${line}`) : []
  if (typeof diff === 'string') return `${path}\n${diff}`
  if (newText === undefined) return `${path} ${JSON.stringify(rest)}`
  return [path, ...marked('-', oldText), ...marked('+', newText)].join('\n')
}
