import { isRecord } from '../events/engine.ts'
import { Rec } from '../events/record.ts'
import { about, plainError } from './plain-errors.ts'

/** Errors are short; what is longer is an answer. */
const MAX_ERROR = 4000

/**
 * The errors that CLIs print in place of an answer, or next to one, at the start of a line. `sure` ones are
 * never the words of a model, also in the middle of a text; each of the others could be a line of an answer.
 * What may follow a status is nothing, a body, or words of the server: a sentence is the model's.
 */
const errors: readonly { readonly sure: boolean; readonly pattern: RegExp }[] = [
  { sure: true, pattern: /^Attempt \d{1,4} failed(?: with status(?: code)? \d{3})?(?![,\w]| [a-z])/ },
  { sure: true, pattern: /^(?:\w{0,40}Error: )?got status: \d{3}\b/ },
  { sure: true, pattern: /^(?:\w{0,40}Error: )?(?:API )?request failed with status(?: code)?:? \d{3}\b/i },
  {
    sure: true,
    pattern:
      /^(?:Error when talking to Gemini API|Error generating content|An unexpected critical error occurred:|\[API Error(?!.*\] \w))/,
  },
  //  429 Too Many Requests     Error: 503 Service Unavailable
  {
    sure: false,
    pattern:
      /^(?:\w{0,40}Error: |HTTP(?:\/[\d.]{1,3})? )?[45]\d\d (?:Bad Request|Unauthorized|Payment Required|Forbidden|Not Found|Request Timeout|Conflict|Payload Too Large|Unprocessable (?:Entity|Content)|Too Many Requests|Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out|Overloaded)(?=$|[.!]$|[.!] (?:Please|Try|Retry)|:? ?[[{(]|: ?\S| [-–] | for url|\n)/,
  },
  //  HTTP 503     HTTP error 503: upstream connect error     Error: 429 {"error":…
  {
    sure: false,
    pattern:
      /^(?:HTTP(?:\/[\d.]{1,3})?(?: error| status)?:?|\w{0,40}Error:) [45]\d\d(?=$|[.!]$|[.!] (?:Please|Try|Retry)|:? ?[[{(]|: ?\S| [-–] | for url|\n)/,
  },
  //  HTTP 503 upstream connect error
  {
    sure: false,
    pattern:
      /^HTTP(?:\/[\d.]{1,3})? [45]\d\d (?!.{0,200}\b(?:is|are|was|were|should|can|will|you|your|I|we|errors|codes?|status(?:es)?)\b).{1,200}$/,
  },
  //  API Error: 401 {"type":"error"}     API Error (503 …)
  {
    sure: false,
    pattern:
      /^API Error(?:: | \()(?:[45]\d\d\b(?! [a-z]{1,12} (?:a|an|the|that|you)\b)|Connection error|Request timed out)/,
  },
  //  TypeError: fetch failed     Error: connect ECONNREFUSED 127.0.0.1:443
  {
    sure: false,
    pattern:
      /^\w{0,40}Error: (?:fetch failed|connect E[A-Z]{3,}|read ECONN|getaddrinfo|socket hang up|Connection error|(?:Invalid|Incorrect) API key|[Rr]ate limit|Too many requests|Unauthorized|insufficient_quota|[Qq]uota exceeded)/,
  },
  //  ApiError: {"error":{"code":429,…
  {
    sure: false,
    pattern: /^\w{0,40}(?:Error|Exception): ?\[?\{.{0,300}"(?:code|status|error|message)"\s*:/s,
  },
]

/**
 * The error in a line that a CLI logs. On stdout, where an answer may be, only one that is no model's words:
 * `loose` if nothing there is an answer.
 */
export function loggedError(line: string, loose: boolean): string | undefined {
  const head = line.slice(0, 500)
  const found = matches(head)
  if (found && (found.sure || (loose && !about.test(head)))) return head
  return loose ? plainError(head) : undefined
}

/** Lines that a program logs: a time, a level, a stack trace, a warning of Node. */
export const logLine =
  /^(?:\s+at |\[?\d{4}-\d\d-\d\d|\W{0,2}(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE|FATAL)\b|\(node:\d|\(Use `node|Warning:|npm )/i

//  12:04:01 connected     level=info msg=ok     mcp: connected     Retrying in 3 s     Loading extensions...
const logWords =
  /^(?:\[[^\]]{1,40}\]|\d\d:\d\d(?::\d\d)?\b|\w{1,20}=\S|[\w.@/-]{1,40}: (?!\{)|(?:Re)?(?:try|connect|load|start|initializ|authenticat|us|wait|fetch|resum)ing\b|(?:Connected|Loaded|Started|Initialized|Authenticated|Registered|Flushing|Server)\b)|(?:\.{3}|…)$/i

/** A line that a program logs, where nothing else says whether it is a model's words. */
export function isLog(line: string): boolean {
  const head = line.slice(0, 500)
  return logLine.test(head) || logWords.test(head) || loggedError(head, true) !== undefined
}

function matches(line: string) {
  const head = line.slice(0, 500)
  return errors.find(({ pattern }) => pattern.test(head))
}

/** A request that failed, and is tried again. */
export function isRetry(error: string): boolean {
  return /^Attempt \d{1,4} failed/.test(error.slice(0, 100))
}

/**
 * The error that a CLI prints as its whole answer; undefined for an answer, also for one about an error.
 * `output`: the tokens of the answer, if the engine counts them. A model that wrote some has answered.
 *
 * @example
 * errorAnswer('[API Error: 401 Incorrect API key]') // the text: it is one
 * errorAnswer('[API Error: 401] means that the key is wrong.') // undefined
 */
export function errorAnswer(text: string, output?: number): string | undefined {
  if (text.length > MAX_ERROR || (output ?? 0) > 0) return undefined
  const words = text.trim()
  const bracketed = words.startsWith('[API Error')
  if (bracketed ? !isBracketed(words) : !isOneError(words)) return undefined
  return isRetry(words) ? undefined : words
}

/** `[API Error: …]`, and what Gemini CLI adds below it. */
function isBracketed(words: string): boolean {
  const end = words.search(/\](?:\n|$)/)
  const rest = end < 0 ? undefined : words.slice(end + 1).trim()
  return rest === '' || (rest !== undefined && isHint(rest))
}

/** What Gemini CLI prints below an error of the API. */
export function isHint(words: string): boolean {
  return /^(?:Possible quota|Please wait|You have reached|We have|To (?:increase|continue)|If you)/.test(
    words,
  )
}

/** One error, and nothing after it but its body or its stack trace. */
function isOneError(words: string): boolean {
  const [first = '', ...rest] = words.split('\n')
  const body = rest.join('\n').trimStart()
  if (matches(first) === undefined || about.test(words)) return false
  return body === '' || /^[[{]/.test(body) || rest.every((line) => /^(?:\s|[}\]]|$)/.test(line))
}

/** `{"error":{"code":429,…}}`, alone or in an array: an error response of an API. */
export function apiError(value: unknown): string | undefined {
  const one = Array.isArray(value) && value.length === 1 ? value[0] : value
  if (!isRecord(one)) return undefined
  const body = Rec.of(one, 'error:record #1')
  const code = body?.number('error.code') ?? 0
  if (!body || code < 400) return undefined
  return body.text('error.message') ?? `the request failed with status ${code}`
}
