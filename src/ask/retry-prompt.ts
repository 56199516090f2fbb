import { badOption, type Code, codes, type Fault, type SchemaError, visible } from '../base/fault.ts'
import { listed, MAX_PATH, MAX_SUMMARY, quoted, ruleName } from './broken-rules.ts'
import { chineseSummary } from './retry-in-chinese.ts'

/** What a `retryPrompt` of yours is told: why the last answer could not be used. */
export interface FailedAnswer {
  /**
   * What is wrong and where: one line, at most 600 characters. From the answer it contains only the names of
   * properties, up to 20 characters at the place where the JSON breaks, and what a normalizer or a schema
   * that is code repeats; all of that is quoted, with control characters escaped.
   */
  readonly error: string
  readonly fault: Fault
  /** The attempt that failed, from 1. */
  readonly attempt: number
  /** The tag that must contain the answer. @default none */
  readonly tag?: string | undefined
  /** The required root of the answer. @default 'object' */
  readonly root?: 'object' | 'any' | undefined
}

/** Makes the text that is appended to the original prompt when a model is asked again. */
export type RetryPrompt = (failure: FailedAnswer) => string

function inEnglish(failure: FailedAnswer): string {
  const json = failure.root === 'any' ? 'JSON' : 'JSON object'
  const place = failure.tag === undefined ? '' : `, inside <${failure.tag}> and </${failure.tag}>`
  return `${english[verdictOf(failure)]}
Error: ${failure.error}
Answer again exactly as asked. Output only the ${json}${place}, without any other text, Markdown or code fence.`
}

function inChinese(failure: FailedAnswer): string {
  const json = failure.root === 'any' ? 'JSON' : 'JSON 对象'
  const place = failure.tag === undefined ? '' : `（放在 <${failure.tag}> 与 </${failure.tag}> 之间）`
  return `${chinese[verdictOf(failure)]}
错误信息：${chineseSummary(failure.fault, failure.tag)}
请严格按要求重新输出，仅输出 ${json}${place}，不要包含任何额外文字、Markdown 标记或代码块。`
}

/** The first sentence about an answer. It must not call valid JSON invalid. */
type Verdict = 'broken' | 'rejected' | 'unusable'

const english: Record<Verdict, string> = {
  broken: 'Your last output could not be parsed as valid JSON.',
  rejected: 'Your last output could be read as JSON, but it does not do what was asked.',
  unusable: 'Your last output could not be used.',
}

const chinese: Record<Verdict, string> = {
  broken: '你上一次的输出无法解析为合法 JSON。',
  rejected: '你上一次的输出是 JSON，但不符合要求。',
  unusable: '你上一次的输出无法使用。',
}

function verdictOf({ fault, tag }: FailedAnswer): Verdict {
  switch (fault.code) {
    case 'EMPTY':
    case 'INVALID_JSON':
    case 'TRUNCATED':
      return 'broken'
    case 'NO_MATCH':
      // Outside its tag the answer may be perfect JSON.
      return tag === undefined ? 'broken' : 'unusable'
    case 'ROOT_NOT_OBJECT':
    case 'SCHEMA_FAILED':
    case 'NORMALIZE_FAILED':
    case 'PROTO_KEY':
      return 'rejected'
    default:
      return 'unusable'
  }
}

/** Calls `retryPrompt`. A result that is not a string would be sent to the model as `[object Promise]`. */
export function retryText(prompt: 'en' | 'zh' | RetryPrompt, failure: FailedAnswer): string {
  if (prompt === 'en') return inEnglish(failure)
  if (prompt === 'zh') return inChinese(failure)
  const text: unknown = prompt(failure)
  if (typeof text === 'string') return text
  // The promise is not awaited, and its rejection must not end the process.
  if (text instanceof Promise) text.catch(() => {})
  throw badOption(`retryPrompt must return a string synchronously, but returned ${typeof text}`)
}

const MAX_WORDS = 160
const MAX_THROWN = 400

/**
 * What is wrong, in our words, the schema's or the normalizer's. The values that were found are left out: a
 * model that reads its own mistake tends to repeat it, and the answer may contain instructions. What has to
 * stay, so that the model can find the place, is quoted: a text of the answer cannot end its quotes.
 */
export function summaryOf(fault: Fault, tag?: string): string {
  const { code, broken, errors } = fault
  if (code === 'NO_MATCH' && tag !== undefined) return `the answer has no <${tag}> block`
  const meaning = meanings[code] ?? codes[code]
  if (broken) {
    const where = `line ${broken.line}, column ${broken.column} of the JSON`
    const found = broken.found === '' ? 'at the end' : `at ${quoted(broken.found, MAX_PATH)}`
    return `${meaning}: ${where}, ${found}: expected ${broken.expected}`
  }
  if (errors && errors.length > 0) return listed(`${meaning}: `, errors, inOneRule, AND)
  const detail = detailOf(fault)
  if (code === 'NORMALIZE_FAILED' && detail !== '') return `${meaning}: ${quoted(detail, MAX_THROWN)}`
  return visible(detail === '' ? meaning : `${meaning}: ${detail}`).slice(0, MAX_SUMMARY)
}

/** The codes in words for a model, which would understand "the input" as its prompt. */
const meanings: Partial<Record<Code, string>> = {
  EMPTY: 'the answer is empty',
  NO_MATCH: 'no JSON that can be used was found in the answer',
  TRUNCATED: 'the answer ended before its JSON was closed',
  INVALID_JSON: 'the answer is not valid JSON',
  ROOT_NOT_OBJECT: 'the answer is JSON, but its root is not an object',
  SCHEMA_FAILED: 'the answer is JSON, but breaks the schema',
  NORMALIZE_FAILED: 'the answer is JSON, but was refused',
  MAX_DEPTH: 'the answer is nested deeper than allowed',
  PROTO_KEY: 'the answer is JSON, but has the key __proto__ or constructor.prototype, which is not allowed',
  FRAME_TOO_LONG: 'the answer is longer than allowed',
}

/** One broken rule. */
function inOneRule({ path, rule, message }: SchemaError): string {
  const place = path === '' ? 'the root' : quoted(path, MAX_PATH)
  // The end of the message quotes a value of the answer, so it is cut off.
  const wanted = quoted(message.split(', found ')[0]!, MAX_WORDS)
  return `${place} (${ruleName(rule)}): ${wanted}`
}

const AND = { next: '; ', more: (count: number | undefined) => (count ? `and ${count} more` : 'and more') }

/** The part of a message after the text of its code. */
function detailOf({ code, message }: Fault): string {
  const start = message.indexOf(`${codes[code]}: `)
  return start < 0 ? '' : message.slice(start + codes[code].length + 2)
}
