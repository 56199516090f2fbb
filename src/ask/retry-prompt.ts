import { badOption, type Code, codes, type Fault, type SchemaError, visible } from '../base/fault.ts'
import { MAX_ERRORS } from '../values/schema/schema.ts'

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
  return `${englishVerdicts[verdictOf(failure)]}
Error: ${failure.error}
Answer again exactly as asked. Output only the ${json}${place}, without any other text, Markdown or code fence.`
}

function inChinese(failure: FailedAnswer): string {
  const json = failure.root === 'any' ? 'JSON' : 'JSON 对象'
  const place = failure.tag === undefined ? '' : `（放在 <${failure.tag}> 与 </${failure.tag}> 之间）`
  return `${chineseVerdicts[verdictOf(failure)]}
错误信息：${chineseSummary(failure.fault, failure.tag)}
请严格按要求重新输出，仅输出 ${json}${place}，不要包含任何额外文字、Markdown 标记或代码块。`
}

/** The first sentence about an answer. It must not call valid JSON invalid. */
type Verdict = 'broken' | 'rejected' | 'unusable'

const englishVerdicts: Record<Verdict, string> = {
  broken: 'Your last output could not be parsed as valid JSON.',
  rejected: 'Your last output could be read as JSON, but it does not do what was asked.',
  unusable: 'Your last output could not be used.',
}

const chineseVerdicts: Record<Verdict, string> = {
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
  const meaning = englishMeanings[code] ?? codes[code]
  if (broken) {
    const where = `line ${broken.line}, column ${broken.column} of the JSON`
    const found = broken.found === '' ? 'at the end' : `at ${quoted(broken.found, MAX_PATH)}`
    return `${meaning}: ${where}, ${found}: expected ${broken.expected}`
  }
  if (errors && errors.length > 0) return listed(`${meaning}: `, errors, englishRule, ENGLISH_AND)
  const detail = detailOf(fault)
  if (code === 'NORMALIZE_FAILED' && detail !== '') return `${meaning}: ${quoted(detail, MAX_THROWN)}`
  return visible(detail === '' ? meaning : `${meaning}: ${detail}`).slice(0, MAX_SUMMARY)
}

/** The codes in words for a model, which would understand "the input" as its prompt. */
const englishMeanings: Partial<Record<Code, string>> = {
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
function englishRule({ path, rule, message }: SchemaError): string {
  const place = path === '' ? 'the root' : quoted(path, MAX_PATH)
  return `${place} (${ruleName(rule)}): ${quoted(wantedIn(message), MAX_WORDS)}`
}

const ENGLISH_AND = {
  next: '; ',
  more: (count: number | undefined) => (count ? `and ${count} more` : 'and more'),
}

/** The part of a message after the text of its code. */
function detailOf({ code, message }: Fault): string {
  const start = message.indexOf(`${codes[code]}: `)
  return start < 0 ? '' : message.slice(start + codes[code].length + 2)
}

const MAX_SUMMARY = 600
const MAX_PATH = 120

/** As many broken rules as fit, each whole. `and` is what follows the one before, and says what is left. */
function listed(
  start: string,
  errors: readonly SchemaError[],
  itemOf: (error: SchemaError) => string,
  and: { readonly next: string; readonly more: (count: number | undefined) => string },
): string {
  let text = start
  for (const [n, error] of errors.entries()) {
    const item = `${n === 0 ? '' : and.next}${itemOf(error)}`
    // Above the limit the number is not known.
    const more = and.next + and.more(errors.length < MAX_ERRORS ? errors.length - n : undefined)
    if (text.length + item.length + more.length > MAX_SUMMARY) return text + more
    text += item
  }
  return text
}

/** The end of a message quotes a value of the answer, so it is cut off. */
const wantedIn = (message: string) => message.split(', found ')[0]!

/** The name of a rule, which a schema that is code may have from the answer. */
const ruleName = (rule: string) => (/^[\w.-]{1,60}$/.test(rule) ? rule : quoted(rule, 60))

/** A text as a JSON string of at most `max` characters, quotes included. A cut one ends in `…`. */
function quoted(text: string, max: number): string {
  let inside = ''
  for (const character of text.slice(0, max)) {
    const next = visible(JSON.stringify(character).slice(1, -1))
    if (inside.length + next.length > max - 3) return `"${inside}…"`
    inside += next
  }
  return text.length > max ? `"${inside}…"` : `"${inside}"`
}

/** What is wrong with an answer, as `summaryOf` says it, in Chinese throughout. */
function chineseSummary(fault: Fault, tag: string | undefined): string {
  const { code, broken, errors } = fault
  if (code === 'NO_MATCH' && tag !== undefined) return `回答中没有 <${tag}> 块`
  const meaning = chineseMeanings[code] ?? '回答无法使用'
  if (broken) {
    const found = broken.found === '' ? '末尾' : `${inQuotes(broken.found)} 处`
    return `${meaning}：第 ${broken.line} 行第 ${broken.column} 列，${found}`
  }
  if (errors && errors.length > 0) return listed(`${meaning}：`, errors, chineseRule, CHINESE_AND)
  return code === 'NORMALIZE_FAILED' ? `${meaning}：${inQuotes(detailOf(fault))}` : meaning
}

const CHINESE_AND = {
  next: '；',
  more: (count: number | undefined) => (count ? `另有 ${count} 处` : '还有更多'),
}
const inQuotes = (text: string) => quoted(text, MAX_PATH)

const chineseMeanings: Partial<Record<Code, string>> = {
  EMPTY: '回答为空',
  NO_MATCH: '回答中没有可用的 JSON',
  TRUNCATED: '回答在 JSON 结束之前就中断了',
  INVALID_JSON: '回答不是合法的 JSON',
  ROOT_NOT_OBJECT: '回答是 JSON，但根节点不是对象',
  SCHEMA_FAILED: '回答是 JSON，但不符合 schema',
  NORMALIZE_FAILED: '回答是 JSON，但被拒绝',
  MAX_DEPTH: '回答嵌套过深',
  PROTO_KEY: '回答是 JSON，但含有不允许的键 __proto__ 或 constructor.prototype',
  FRAME_TOO_LONG: '回答过长',
}

function chineseRule({ path, rule, message }: SchemaError): string {
  const place = path === '' ? '根节点' : inQuotes(path)
  return `${place}（${ruleName(rule)}）${ruleInChinese(rule, wantedIn(message))}`
}

/** What a rule of JSON Schema wants; the words of any other schema are its own. */
function ruleInChinese(rule: string, message: string): string {
  const [says, operand] = chineseRules[rule] ?? []
  if (says === undefined) return `：${inQuotes(message)}`
  const found = operand?.exec(message)?.[1]
  return says.replace('%', () => (found === undefined ? '' : inQuotes(found)))
}

/** What is said of each rule, and where its operand is in the words of the validator. */
const chineseRules: Readonly<Record<string, readonly [says: string, operand?: RegExp]>> = {
  type: ['类型应为 %', /^must be (.*)$/s],
  required: ['缺少属性 %', /^[^']*'(.*)'$/s],
  additionalProperties: ['不应有属性 %', /^[^"]*"(.*)"$/s],
  enum: ['应为其中之一：%', /^must be one of (.*)$/s],
  const: ['应为 %', /^must be (.*)$/s],
  minimum: ['应为 %', /^must be (.*)$/s],
  maximum: ['应为 %', /^must be (.*)$/s],
  exclusiveMinimum: ['应为 %', /^must be (.*)$/s],
  exclusiveMaximum: ['应为 %', /^must be (.*)$/s],
  multipleOf: ['应为 % 的倍数', /^must be multiple of (.*)$/s],
  minLength: ['至少 % 个字符', /(\d+)/],
  maxLength: ['至多 % 个字符', /(\d+)/],
  minItems: ['至少 % 个元素', /(\d+)/],
  maxItems: ['至多 % 个元素', /(\d+)/],
  minProperties: ['至少 % 个属性', /(\d+)/],
  maxProperties: ['至多 % 个属性', /(\d+)/],
  pattern: ['应匹配 %', /^[^"]*"(.*)"$/s],
  format: ['格式应为 %', /^[^"]*"(.*)"$/s],
  uniqueItems: ['元素不能重复'],
  anyOf: ['不符合任何一种形式'],
  oneOf: ['应恰好符合一种形式'],
  not: ['不应是这种形式'],
}
