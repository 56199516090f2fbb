import { clip, codes, Fault, visible } from '../base/fault.ts'

/** Why an answer could not be used, as it is told to the model. */
export interface Failure {
  /**
   * A summary of what is wrong: one line, at most 600 characters. Of the answer it only has the names of
   * properties, and what the messages of a schema that is code repeat; control characters are spelled out.
   */
  readonly error: string
  readonly fault: Fault
  /** The attempt that failed, from 1. */
  readonly attempt: number
}

/** Makes the text that is put after the original prompt when it is asked again. */
export type RetryPrompt = (failure: Failure) => string

/**
 * The default.
 *
 * @example
 * await ask(call, { prompt, schema, retryPrompt: retryInEnglish })
 */
export const retryInEnglish: RetryPrompt = ({ error }) =>
  `Your last output could not be parsed as valid JSON.
Error: ${error}
Answer again exactly as asked. Output only the JSON object, without any other text, Markdown or code fence.`

/**
 * The same in Chinese.
 *
 * @example
 * await ask(call, { prompt, schema, retryPrompt: retryInChinese })
 */
export const retryInChinese: RetryPrompt = ({ error }) =>
  `你上一次的输出无法解析为合法 JSON。
错误信息：${error}
请严格按要求重新输出，仅输出 JSON 对象，不要包含任何额外文字、Markdown 标记或代码块。`

/** Asks for the text; what is none would be sent to the model as `[object Promise]`. */
export function retryText(prompt: RetryPrompt, failure: Failure): string {
  const text: unknown = prompt(failure)
  if (typeof text === 'string') return text
  // A promise is not waited for, and its failure must not end the process.
  if (text instanceof Promise) text.catch(() => {})
  throw new Fault('BAD_OPTION', `retryPrompt must answer with a text at once, but gave ${typeof text}`)
}

const MAX_SUMMARY = 600
const MAX_ERRORS = 8
const MAX_PATH = 120

/**
 * What is wrong, in words that are ours or the schema's. The values that were found are left out: a model
 * that reads its own mistake tends to repeat it, and the answer may hold instructions. The names of properties have to
 * stay, or the model could not tell where the mistake is; they are quoted.
 */
export function summaryOf(fault: Fault): string {
  const errors = (fault.errors ?? []).slice(0, MAX_ERRORS)
  const rules = errors.map(({ path, message }) => {
    const place = path === '' ? 'the root' : JSON.stringify(clip(path, MAX_PATH))
    return `${place}: ${message.split(', found ')[0]}`
  })
  return clip(visible([codes[fault.code], ...rules].join('; ')), MAX_SUMMARY)
}
