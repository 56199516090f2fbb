import type { Code, Fault, SchemaError } from '../base/fault.ts'
import { listed, MAX_PATH, quoted, ruleName } from './broken-rules.ts'

/** What is wrong with an answer, as `summaryOf` says it, in Chinese throughout. */
export function chineseSummary(fault: Fault, tag: string | undefined): string {
  const { code, broken, errors } = fault
  if (code === 'NO_MATCH' && tag !== undefined) return `回答中没有 <${tag}> 块`
  const meaning = meanings[code] ?? '回答无法使用'
  if (broken) {
    const found = broken.found === '' ? '末尾' : `${inQuotes(broken.found)} 处`
    return `${meaning}：第 ${broken.line} 行第 ${broken.column} 列，${found}`
  }
  if (errors && errors.length > 0) return listed(`${meaning}：`, errors, inOneRule, AND)
  if (code === 'NORMALIZE_FAILED')
    return `${meaning}：${inQuotes(fault.message.split(': ').slice(1).join(': '))}`
  return meaning
}

const AND = { next: '；', more: (count: number | undefined) => (count ? `另有 ${count} 处` : '还有更多') }
const inQuotes = (text: string) => quoted(text, MAX_PATH)

const meanings: Partial<Record<Code, string>> = {
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

function inOneRule({ path, rule, message }: SchemaError): string {
  const place = path === '' ? '根节点' : inQuotes(path)
  // The end of the message quotes a value of the answer, so it is cut off.
  return `${place}（${ruleName(rule)}）${ruleInChinese(rule, message.split(', found ')[0]!)}`
}

/** What a rule of JSON Schema wants; the words of any other schema are its own. */
function ruleInChinese(rule: string, message: string): string {
  const [says, operand] = rules[rule] ?? []
  if (says === undefined) return `：${inQuotes(message)}`
  const found = operand?.exec(message)?.[1]
  return says.replace('%', () => (found === undefined ? '' : inQuotes(found)))
}

/** What is said of each rule, and where its operand is in the words of the validator. */
const rules: Readonly<Record<string, readonly [says: string, operand?: RegExp]>> = {
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
