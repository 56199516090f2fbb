import { asText, type CallFacts, isRecord, type Say } from '../events/engine.ts'
import type { RequestQuestion } from '../events/event.ts'
import { memory } from '../events/memory.ts'
import { type Rec, recordsIn } from '../events/record.ts'
import { jsonValue } from '../json/strict.ts'

/** What the end of a call does not repeat: its name, and the file it was to write. */
interface StartedCall {
  readonly name: string
  readonly path: string | undefined
}

/** The end of a call. The name is that of its beginning, if that is known. */
type Ended = Omit<CallFacts, 'name'> & { readonly name?: string | undefined }

export type Calls = ReturnType<typeof calls>

/** Remembers the calls that have begun. Not their inputs: those may contain the whole text of a file. */
export function calls() {
  const sizeOf = ({ name, path }: StartedCall) => name.length + (path?.length ?? 0)
  const known = memory<StartedCall>(sizeOf)
  /** Calls that have ended: a result may come twice. Kept apart, so that they never push out an open one. */
  const over = memory<StartedCall>(sizeOf)
  const begun = (id: string, name: string, input: unknown): void => {
    if (id !== '') known.set(id, { name, path: pathOf(input) })
  }
  const ended = (id: string): StartedCall | undefined => {
    // Without an id it could be any of them.
    if (id === '') return undefined
    const call = known.take(id) ?? over.get(id)
    if (call) over.set(id, call)
    return call
  }
  return {
    begun,
    ended,
    /** Reports that a call begins. */
    start(call: CallFacts, say: Say): void {
      begun(call.id, call.name, call.input)
      say.call('started', call)
    },
    /** Reports the end of a call, and the file that it has changed, as far as the engine shows that. */
    end(given: Ended, failed: boolean, say: Say, shown?: Shown): void {
      const { id, kind, input, output, exit_code, denied, duration_ms, parent } = given
      const before = ended(id)
      const name = before?.name ?? given.name ?? 'tool'
      const error = failed ? given.error : undefined
      const call = { id, name, kind, input, output, exit_code, error, denied, duration_ms, parent }
      say.call(failed ? 'failed' : 'completed', call)
      if (!failed) sayChange(call.name, before?.path ?? shown?.path, shown, say)
    },
  }
}

/** The value of JSON in a string; the string itself if it is not JSON. */
export function jsonIn(value: unknown): unknown {
  return typeof value === 'string' && value.startsWith('{') ? (jsonValue(value) ?? value) : value
}

/** Tools that write a file, and what they do to it. */
const writers: Readonly<Record<string, 'created' | 'modified'>> = {
  write: 'created',
  write_file: 'created',
  create: 'created',
  edit: 'modified',
  edit_file: 'modified',
  multiedit: 'modified',
  replace: 'modified',
}

/** How the result of a call begins that was not allowed, of engines whose words were not observed. */
export const usualDenial =
  /^(?:Error: )?(?:(?:The )?user (?:has )?(?:denied|rejected|declined)\b|(?:Tool|Command|Permission|Operation|Request)\b.{0,60} (?:denied|rejected|declined) by (?:the )?(?:user|policy|rule|hook|admin))/i

/** What an engine shows of the change that a call has made. */
export interface Shown {
  readonly path?: string | undefined
  /** What happened to the file, if the engine says that. */
  readonly change?: 'created' | 'modified' | undefined
  /** The text from before: then the file existed. */
  readonly originalContent?: unknown
  readonly fileDiff?: unknown
}

/** Reports the file that a successful call has changed. */
export function sayChange(name: string, path: string | undefined, shown: Shown | undefined, say: Say): void {
  const { change, originalContent, fileDiff } = shown ?? {}
  const own = name.toLowerCase()
  const usual = Object.hasOwn(writers, own) ? writers[own] : undefined
  if (path === undefined || (change ?? usual) === undefined) return
  say.artifact(change ?? (asText(originalContent) ? 'modified' : usual!), path, asText(fileDiff))
}

/** The change that Gemini CLI and Qwen Code show next to the result of a call. */
export function shownIn(display: Rec | undefined): Shown {
  return { originalContent: display?.at('originalContent'), fileDiff: display?.at('fileDiff') }
}

/** The path in the arguments of a call. */
export function pathOf(input: unknown): string | undefined {
  return isRecord(input) ? (asText(input['file_path']) ?? asText(input['path'])) : undefined
}

const HUNK = '@@ -'

/** A unified diff, unchanged; undefined for a text without hunks, like a drawing of the changed lines. */
export function unifiedDiff(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return value.startsWith(HUNK) || value.includes(`\n${HUNK}`) ? value : undefined
}

/** Of longer texts the event has only the beginning anyway. */
const MAX_TEXT = 65_536

/** A whole file as a diff: each line added, or each removed. Undefined without text. */
export function wholeFile(sign: '+' | '-', content: unknown): string | undefined {
  if (typeof content !== 'string' || content === '') return undefined
  const ends = content.endsWith('\n')
  const count = content.split('\n').length - (ends ? 1 : 0)
  const lines = content.slice(0, MAX_TEXT).split('\n')
  if (lines.at(-1) === '') lines.pop()
  const head = sign === '+' ? `@@ -0,0 +1,${count} @@` : `@@ -1,${count} +0,0 @@`
  const tail = ends ? '' : '\\ No newline at end of file\n'
  return `${head}\n${lines.map((line) => `${sign}${line}\n`).join('')}${tail}`
}

/** A patch of Claude Code, a list of hunks with their lines, as a unified diff. */
export function hunksText(patch: unknown): string | undefined {
  if (!Array.isArray(patch)) return undefined
  const hunks = patch.map(hunkText)
  return hunks.length > 0 && hunks.every((hunk) => hunk !== undefined) ? hunks.join('') : undefined
}

function hunkText(hunk: unknown): string | undefined {
  if (!isRecord(hunk) || !Array.isArray(hunk['lines'])) return undefined
  const { oldStart, oldLines, newStart, newLines, lines } = hunk
  if (![oldStart, oldLines, newStart, newLines].every(Number.isInteger)) return undefined
  if (!lines.every((line) => typeof line === 'string')) return undefined
  return `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@\n${lines.map((line) => `${line}\n`).join('')}`
}

/** The questions of a tool that asks the user, by the names of Claude Code, Qwen Code and Codex. */
export function questionsIn(list: unknown): readonly RequestQuestion[] | undefined {
  const asked = recordsIn(Array.isArray(list) ? list : [])
  const questions = asked.filter((one) => one.text('question') !== undefined).map(questionOf)
  return questions.length > 0 ? questions : undefined
}

function questionOf(asked: Rec, index: number): RequestQuestion {
  const header = asked.text('header')
  return {
    id: asked.text('id') ?? String(index),
    question: asked.text('question')!,
    ...(header !== undefined && { header }),
    options: asked.records('options').map((option) => {
      const description = option.text('description')
      return { label: option.text('label') ?? '', ...(description !== undefined && { description }) }
    }),
    ...(asked.at('multiSelect') === true && { multiple: true }),
    ...(asked.at('isOther') === true && { other: true }),
    ...(asked.at('isSecret') === true && { secret: true }),
  }
}
