import { jsonValue } from '../json/strict.ts'
import { callSubject } from './call-subject.ts'
import type { CallFacts } from './engine.ts'
import type { AgentRequest } from './event.ts'

/** Maximum length of an output to parse as JSON, in characters. */
const MAX_JSON = 1 << 20

/**
 * The result of a call, as text: its output with stderr last, and its error unless the output contains it
 * already. Empty if there is none.
 *
 * @example
 * callText({ output: { stdout: '1 failed\n', stderr: 'boom\n' } }) // '1 failed\nboom'
 */
export function callText({ output, error }: Pick<CallFacts, 'output' | 'error'>): string {
  const whole = textOf(unpacked(output), 0)
  // Without blank lines at its start, but with the indent of its first line.
  const text = whole.slice(whole.lastIndexOf('\n', whole.search(/\S/)) + 1).trimEnd()
  const reported = error?.trim() ?? ''
  if (reported === '' || text.includes(reported)) return text
  return text === '' ? reported : `${text}\n${reported}`
}

/** Some engines serialize an object with the output into a string. */
function unpacked(output: unknown): unknown {
  if (typeof output !== 'string' || !output.startsWith('{"') || output.length > MAX_JSON) return output
  // cast: the text begins with `{`
  const value = jsonValue(output) as Record<string, unknown> | undefined
  return pieces.some((name) => typeof value?.[name] === 'string') ? value : output
}

/** The fields of an object that may have its text. The first one counts, followed by the errors. */
const pieces = ['stdout', 'aggregated_output', 'output', 'result', 'text', 'content', 'message']
const errors = ['stderr', 'error', 'errorMessage']

function textOf(value: unknown, depth: number): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (typeof value !== 'object') return String(value)
  if (depth > 4) return JSON.stringify(value)
  if (Array.isArray(value)) return lines(value.map((part) => textOf(part, depth + 1)))
  const fields = value as Record<string, unknown> // cast: an object, whose fields are checked below
  const found = pieces.find((name) => name in fields && fields[name] !== '')
  const bad = errors.filter((name) => typeof fields[name] === 'string')
  if (found === undefined && bad.length === 0) return JSON.stringify(value)
  return lines([
    found === undefined ? '' : textOf(fields[found], depth + 1),
    ...bad.map((name) => String(fields[name])),
  ])
}

function lines(parts: readonly string[]): string {
  return parts
    .map((part) => part.trimEnd())
    .filter((part) => part !== '')
    .join('\n')
}

/** What a request asks, in one line: the question, or the tool and what it would do. */
export function askWords({
  request: { kind, tool, title, input },
}: {
  readonly request: AgentRequest
}): string {
  if (kind === 'question') return title
  const subject = callSubject(input)
  // Some agents show no input, or only the title.
  const known = subject !== '' && !subject.startsWith('{')
  return known || !title.startsWith(tool) ? `${tool}: ${known ? subject : title}` : title
}
