import { isRecord } from '../events/engine.ts'
import { Rec } from '../events/record.ts'

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

//  fetch failed: ECONNRESET      Rate limit exceeded. Please retry later.      command not found: iflow
const failed =
  /^(?:\W{0,4}|(?:\w{0,40}Error|Failed|Failure)[:：] )(?:fetch failed|failed to fetch|network (?:error|request failed)|(?:connection|socket|request|stream|api call|api request) (?:error|failed|refused|reset|timed out|timeout|closed|aborted|hang up|disconnected)|ECONN[A-Z]{3,}|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|(?:api )?rate limit(?:ed| exceeded| reached| hit)|too many requests|(?:daily |monthly |api |usage )?quota (?:exceeded|exhausted|reached|limit reached)|(?:usage|token|daily|request) limit (?:reached|exceeded)|insufficient (?:quota|balance|credits?|funds)|(?:the )?(?:service|server|model|api)(?: is)?(?: temporarily| currently)? (?:unavailable|overloaded|busy|down)|(?:invalid|incorrect|missing|expired) (?:api key|access token|token|credentials)|api key (?:is )?(?:invalid|missing|expired|not found)|unauthorized|unauthenticated|authentication (?:failed|error|required)|not logged in|login required|please log ?in|internal server error|bad gateway|gateway time-?out|service unavailable|(?:\w{1,20}: )?command not found: \S{1,60}$|\S{1,60}: (?:command )?not found$|session (?:expired|not found))(?=$|[.!]? ?[([]|[:：] ?\S|[.!](?:$| (?:Please|Try|Retry|Check|Wait|Log))|, (?:please|retrying|try|check|wait)\b| [-–] \S| (?:\d{3}|after \d{1,6} ?m?s)\b)/i

//  请求失败: 429      错误：配额已用尽      网络连接超时，请稍后重试
const failedInChinese =
  /^\W{0,4}(?:(?:API ?)?(?:错误|报错|异常|失败|出错)(?:信息)?[:：] ?)?(?:(?:API ?)?(?:网络|接口|模型|服务)?(?:请求|调用|连接|网络|服务器?|模型|接口|认证|鉴权|登录|授权|身份验证|会话)(?:失败|错误|超时|异常|中断|被拒绝|已断开|断开|不可用|已?过期|已?过载|繁忙|已?失效|受限|被限流|出错)|(?:API ?|账户|今日|免费|使用|Token ?)?(?:配额|额度|余额|用量|调用次数|流量)(?:已经?)?(?:用尽|用完|耗尽|不足|超限|超出(?:限制)?|达到?上限)|(?:请求|访问|调用)(?:过于频繁|过多|次数过多|频率(?:过高|超限|限制))|(?:已?超[出过]|已?达到|触发)了?(?:API)?(?:速率|频率|配额|额度|请求|用量|使用)的?(?:限制|上限|限流)?|(?:API ?)?(?:密钥|Key|令牌|Token)(?:无效|错误|已?过期|已?失效|缺失)|(?:已?被)?限流|未(?:登录|授权|认证)|(?:无法|不能)连接到?(?:服务器?|网络|API)|(?:请先|需要)登录|(?:找不到|未找到)命令)(?:[:：] ?[^。？?]{1,150}|[（(][^。？?]{1,80}[)）])?(?:[，,。!！；;] ?(?:请|稍后|正在|将在).{0,60})?[。.!！]?$/i

/** Words of a sentence that explains an error in Chinese. */
const aboutInChinese =
  /表示|意味|意思|说明|因为|由于|通常|指的?是|如果|可能|建议|应该?|可以|原因|怎么|如何|为什么|例如|比如|会在|当/

/**
 * An error that a CLI prints as a line of its own, in plain words. It could be a model's answer as well, so
 * it counts only where no answer is: on stderr, beside a document, or as all that was written.
 *
 * @example
 * plainError('Rate limit exceeded. Please retry later.') // the line
 * plainError('Rate limit exceeded means that you sent too much.') // undefined
 */
export function plainError(text: string): string | undefined {
  const line = text.trim()
  if (line.length > MAX_PLAIN || line.includes('\n')) return undefined
  const isError = failed.test(line)
    ? !about.test(line) && !ADVICE.test(line)
    : failedInChinese.test(line) && !aboutInChinese.test(line)
  return isError ? line : undefined
}

const MAX_PLAIN = 300
/** What a person is told, not what went wrong. */
const ADVICE =
  /\?|\b(?:you (?:can|should|need|could|may|will)|your (?:code|test|server|function)|because|usually|should be|for example|e\.g\.|when (?:the|a|you)|if (?:the|a|you)|so that|let me|I )\b/i

/** Words of a sentence about an error. */
const about =
  /\b(?:means?|meaning|indicates?|signals|stands for|refers to|occurs?|happens?|is (?:what|returned|sent|caused|usually))\b/i

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
