import { type OptionTable, readOptions } from '../../base/check-options.ts'
import type { Stage } from '../../base/stage.ts'
import { askWords, callSubject, callText } from '../../events/call-words.ts'
import { costWords } from '../../events/cost.ts'
import type { AgentEvent } from '../../events/event.ts'
import { type Problem, problemAt } from '../../events/problems.ts'
import { endPhrase, isGood } from '../../events/run-outcome.ts'
import { Conversation, type Item, type ToolItem } from '../conversation.ts'
import type { RunSummary } from '../summary.ts'
import { answerWords } from '../tool-text.ts'
import type { WhyReport } from '../why.ts'
import { countWords, durationWords, grouped } from '../words.ts'
import { codeSpan, fenced, html, quotation, safeMarkdown } from './safe.ts'

/** The options of `markdown()`. */
export interface MarkdownOptions {
  /**
   * Approximate maximum length of the text, in characters. Of a longer run the first third and the last two
   * thirds are shown, with a note about how much is left out between them. An issue on GitHub takes 65,536.
   * @default 60000
   */
  readonly maxLength?: number | undefined
}

export const MARKDOWN_OPTIONS = {
  maxLength: { default: 60_000 },
} as const satisfies OptionTable<MarkdownOptions>

/** Characters of a message, the prompt, an output or a diff; lines of a failed call's output. */
const MAX_MESSAGE = 12_000
const MAX_PROMPT = 4000
const MAX_OUTPUT = 2000
const MAX_TAIL = 12
const MIN_LENGTH = 2000

/**
 * A run as Markdown that reads well in an issue: how it ended and what went wrong first, the prompt (folded),
 * the messages, a line for each tool (its output folded, the end of it if the call failed), the diffs
 * (folded), and the figures. Emitted as one text, when the events end. HTML of the agent is shown as text;
 * the length is bounded.
 *
 * @example
 * const [text] = drive(markdownStage(), [event])
 */
export function markdownStage(options: MarkdownOptions = {}): Stage<AgentEvent, string> {
  const example = 'markdownStage({ maxLength: 60_000 })'
  const { maxLength } = readOptions('markdownStage', options, example, MARKDOWN_OPTIONS)
  return (next) => {
    const written = markdownWriter({ maxLength })
    return {
      write: written.write,
      end() {
        next.write(written.text())
        next.end()
      },
    }
  }
}

/** What is known of a run besides its events. */
export interface MarkdownFacts {
  /** What the agent was asked, if no event says it. */
  readonly task?: string | undefined
  /** Why it ended so; without it, the first problem counts. */
  readonly why?: WhyReport | undefined
}

/**
 * The same, event by event. `brief` leaves out how the agent worked: its thoughts, the calls that went well,
 * and all messages but the last, which comes first.
 */
export function markdownWriter({
  maxLength = MARKDOWN_OPTIONS.maxLength.default,
  brief = false,
}: MarkdownOptions & { readonly brief?: boolean } = {}) {
  const talk = new Conversation()
  const body = middleCut(Math.max(MIN_LENGTH, maxLength))
  let attempt: number | undefined
  /** Calls of earlier attempts that did not end. */
  const unfinished: ToolItem[] = []
  let problem: Problem | undefined
  let prompted = false
  let raw = 0

  return {
    write(event: AgentEvent): void {
      if (event.attempt_number !== attempt) unfinished.push(...talk.running)
      attempt = event.attempt_number
      const item = talk.take(event)
      // A problem of kind `end` only says that something went wrong.
      if (item.problem && (!problem || problem.kind === 'end')) problem = item.problem
      if (item.kind === 'end' && item.end.problem !== undefined)
        problem = problemAt(event, 'end', item.end.problem)
      if (item.kind === 'raw') raw++
      // The first prompt is in the head.
      const inHead = item.kind === 'prompt' && !prompted
      if (inHead) prompted = true
      const part = inHead || (brief && isWork(item)) ? '' : partOf(item)
      if (part !== '') body.add(part)
    },
    summary: (): RunSummary => talk.summary(),
    text({ task, why }: MarkdownFacts = {}): string {
      const summary = talk.summary()
      for (const { input } of [...unfinished, ...talk.running])
        body.add(`… ${codeSpan(cut(callSubject(input), 300))} did not end`)
      const prompt = summary.prompt ?? task
      const asked = prompt === undefined ? '' : brief ? taskOf(prompt) : promptOf(prompt)
      const parts = [
        head(summary, why ? why.first : problem),
        why?.last ? `Last problem: ${codeSpan(why.last.title)}` : '',
        why?.stderr ? fenced(why.stderr.join('\n')) : '',
        asked,
        brief && summary.answer?.trim() ? quotation(cut(summary.answer.trim(), MAX_MESSAGE)) : '',
        body.text(),
        brief ? tail({ ...summary, warnings: 0 }, 0) : tail(summary, raw),
      ]
      return `${joined(parts, '\n\n')}\n`
    },
  }
}

/** An item that only shows how the agent worked, or that the head and the tail of a brief text have. */
function isWork(item: Item): boolean {
  switch (item.kind) {
    case 'tool':
      return item.problem === undefined
    case 'artifact':
      return item.diff === undefined
    case 'message':
    case 'reasoning':
    case 'prompt':
    case 'diagnostic':
      return true
    default:
      return false
  }
}

function promptOf(prompt: string): string {
  return folded('Prompt', fenced(cut(prompt, MAX_PROMPT)))
}

/** A short one is not worth a click. */
function taskOf(prompt: string): string {
  const line = prompt.trim()
  return line.length > 300 || line.includes('\n') ? promptOf(prompt) : `Task: ${codeSpan(line)}`
}

/** An item as a part of the text; empty if it has none, or none yet. */
function partOf(item: Item): string {
  switch (item.kind) {
    case 'prompt':
      return folded('The user said', fenced(cut(item.text, MAX_PROMPT)))
    case 'message': {
      const text = item.text.trim()
      const who = item.nested ? '*A subagent:*\n\n' : ''
      const note = item.incomplete ? '\n\n*(The run ended before this message did.)*' : ''
      return item.growing || text === '' ? '' : `${who}${safeMarkdown(cut(text, MAX_MESSAGE))}${note}`
    }
    case 'reasoning': {
      const text = item.text.trim()
      return item.growing || text === '' ? '' : folded('Thoughts', safeMarkdown(cut(text, MAX_OUTPUT)))
    }
    case 'tool':
      return item.state === 'running' ? '' : toolLine(item)
    case 'request':
      return item.by === undefined
        ? ''
        : `**Asked** ${codeSpan(cut(askWords(item), 500))} · ${safeMarkdown(answerWords(item))}`
    case 'artifact': {
      const { change, path, diff } = item
      if (diff === undefined || diff === '') return `${change} ${codeSpan(path)}`
      const title = `${change} <code>${html(cut(path, 300))}</code>`
      return folded(title, fenced(cut(diff, MAX_OUTPUT), 'diff'))
    }
    case 'diagnostic':
      return item.problem ? `**Error:** ${codeSpan(cut(item.message, 500))}` : ''
    case 'result': {
      const { status, value, errors } = item.result
      const shown = JSON.stringify(value ?? errors ?? null, null, 2)
      return `**Result: ${status}**\n\n${fenced(cut(shown, MAX_OUTPUT), 'json')}`
    }
    case 'status':
    case 'end':
    case 'raw':
      return ''
  }
}

function head(summary: RunSummary, problem: Problem | undefined): string {
  const { engine = 'agent', outcome, engine_version, model, cwd, session_id, first_ts } = summary
  const title = `## ${safeMarkdown(cut(engine, 60))} run: ${outcome ?? 'not over'}`
  const began =
    first_ts !== undefined && Date.parse(first_ts) > 0 ? first_ts.slice(0, 16).replace('T', ' ') : ''
  const about = [
    engine_version === undefined ? '' : codeSpan(`${engine} ${cut(engine_version, 60)}`),
    model === undefined ? '' : codeSpan(cut(model, 100)),
    cwd === undefined ? '' : codeSpan(cut(cwd, 300)),
    session_id === undefined ? '' : `session ${codeSpan(cut(session_id, 100))}`,
    began === '' ? '' : `${began} UTC`,
  ]
  const why = outcome === undefined ? '' : `**${sentence(endPhrase(outcome, summary.failure_class))}**`
  const label = isGood(outcome) || outcome === undefined ? 'First problem' : 'Problem'
  const first = problem ? `${label}: ${codeSpan(problem.title)}` : ''
  return joined([title, joined(about), joined([why, figures(summary)]), first], '\n\n')
}

function figures(summary: RunSummary): string {
  const { turns, tools, file_count, tokens, cost, first_ts, last_ts } = summary
  const took = Date.parse(last_ts ?? '') - Date.parse(first_ts ?? '')
  const failed = tools.failed > 0 ? ` (${grouped(tools.failed)} failed)` : ''
  return joined([
    turns > 0 ? countWords(turns, 'turn') : '',
    tools.called > 0 ? countWords(tools.called, 'tool call') + failed : '',
    file_count > 0 ? `${countWords(file_count, 'file')} changed` : '',
    tokens?.input === undefined
      ? ''
      : `${grouped(tokens.input)} tokens in${tokens.cached === undefined ? '' : ` (${grouped(tokens.cached)} cached)`}`,
    tokens?.output === undefined ? '' : `${grouped(tokens.output)} out`,
    costWords(cost),
    took > 0 ? durationWords(took) : '',
  ])
}

function toolLine(item: ToolItem): string {
  const { name, exitCode, denied, measured } = item
  const failed = item.state === 'failed'
  const subject = callSubject(item.input) || callSubject(item.lateInput)
  const state = failed ? (denied ? 'denied' : 'failed') : ''
  const exit = exitCode === undefined ? '' : `exit ${exitCode}`
  const how = joined([state, exit, measured === undefined ? '' : durationWords(measured)], ', ')
  const ended = how === '' ? '' : ` (${how})`
  const output = callText(item)
  if (failed) {
    const line = `✗ **${safeMarkdown(cut(name, 100))}** ${codeSpan(cut(subject, 300))}${ended}`
    return output === '' ? line : `${line}\n\n${fenced(lastLines(output))}`
  }
  if (output === '') return `✓ ${safeMarkdown(cut(name, 100))} ${codeSpan(cut(subject, 300))}${ended}`
  const line = `✓ ${html(cut(name, 100))} <code>${html(cut(subject, 300).replaceAll('\n', ' '))}</code>${ended}`
  return folded(line, fenced(cut(output, MAX_OUTPUT)))
}

/** The last lines: errors are usually at the end. */
function lastLines(text: string): string {
  const end = text.slice(-MAX_OUTPUT)
  const lines = end.split('\n')
  const shown = lines.slice(-MAX_TAIL)
  return shown.length === lines.length && end.length === text.length ? text : `…\n${shown.join('\n')}`
}

function tail(summary: RunSummary, raw: number): string {
  const { files, file_count, warnings } = summary
  const shown = files.slice(0, 20).map((path) => codeSpan(cut(path, 200)))
  const more = file_count > shown.length ? ` and ${grouped(file_count - shown.length)} more` : ''
  const notes = joined([
    shown.length === 0 ? '' : `Files: ${shown.join(', ')}${more}`,
    warnings === 0 ? '' : countWords(warnings, 'warning'),
    raw === 0
      ? ''
      : `${countWords(raw, 'line')} of output that ${raw === 1 ? 'is not an event' : 'are not events'} left out`,
  ])
  return notes === '' ? '' : `---\n\n${notes}`
}

/** The blank lines make GitHub read the content as Markdown. */
function folded(title: string, inside: string): string {
  return `<details><summary>${title}</summary>\n\n${inside}\n\n</details>`
}

/** The parts that are not empty. */
function joined(parts: readonly string[], separator = ' · '): string {
  return parts.filter((part) => part !== '').join(separator)
}

function sentence(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}

/** The first characters of a text, and how many more there are. */
export function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)} … (${grouped(text.length - max)} more characters)`
}

/** Collects the parts of a text, and drops those in the middle when they are too long together. */
function middleCut(maxLength: number): { add(part: string): void; text(): string } {
  const first: string[] = []
  const last: string[] = []
  let [firstLength, lastLength, dropped, from] = [0, 0, 0, 0]
  return {
    add(part) {
      if (last.length === 0 && firstLength + part.length < maxLength / 3) {
        first.push(part)
        firstLength += part.length + 2
        return
      }
      last.push(part)
      lastLength += part.length + 2
      while (lastLength > (maxLength * 2) / 3 && from < last.length - 1) {
        lastLength -= last[from]!.length + 2
        last[from++] = ''
        dropped++
      }
      if (from > 1000) last.splice(0, from)
      if (from > 1000) from = 0
    },
    text() {
      const gap = dropped === 0 ? [] : [`*… ${countWords(dropped, 'part')} of the run left out here …*`]
      return [...first, ...gap, ...last.slice(from)].join('\n\n')
    },
  }
}
