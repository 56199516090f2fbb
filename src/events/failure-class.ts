import type { FailureTable } from './engine.ts'
import type { FailureClass } from './event.ts'

/** Words decide within this many characters: the rest of a long message is a body or a stack trace. */
const MAX_WORDS = 2000

const NONE: FailureTable = []

/**
 * What sort of failure the words of an error stand for; undefined if they do not say. `own` is what the
 * engine says in its own words, and counts first.
 *
 * @example
 * failureClassOf('429 insufficient_quota') // 'quota'
 */
export function failureClassOf(
  message: string,
  code?: unknown,
  own: FailureTable = NONE,
): FailureClass | undefined {
  const coded = typeof code === 'number' ? `status ${code}: ` : typeof code === 'string' ? `${code}: ` : ''
  const words = `${coded}${message}`.slice(0, MAX_WORDS)
  // Engines report an error, and then say it again as the end of the turn.
  if (last?.words !== words || last.own !== own) last = { words, own, found: search(words, own) }
  return last.found
}

let last: { words: string; own: FailureTable; found: FailureClass | undefined } | undefined

function search(words: string, own: FailureTable): FailureClass | undefined {
  for (const [name, says] of own) if (says.test(words)) return name
  for (const [name, says] of usual) if (says.test(words)) return name
  const status = statusIn(words)
  return status === undefined ? undefined : classOfStatus(status)
}

/** Words that say more than a status: a 429 may be a used up plan, a 400 a prompt too long. */
const usual: FailureTable = [
  [
    'context',
    /context[_ -]?(?:length|window|size|limit)[_ -]?(?:was |is )?(?:exceed|overflow|too|reach)|ContextOverflow|maximum context length|(?:prompt|input|request|conversation) is too (?:long|large)|input token count .{0,80}exceeds|too many (?:input )?tokens|ran out of room in the model's context/i,
  ],
  [
    'quota',
    /insufficient[_ ](?:quota|credits?|funds|balance)|exceeded your (?:current |monthly |daily )?quota|quota (?:is |was |has been )?(?:exceeded|exhausted|reached)|usage[_ ]limit|(?:spend|credit|budget|monthly|daily|weekly)(?:ing)? limit|plan and billing|billing[_ ](?:hard|limit|error|account|not)|hit your .{0,20}limit|exhausted your .{0,40}(?:quota|capacity)|(?:daily|monthly|weekly|token)(?: request)? limit|out of (?:credits|quota)|次数已达|使用上限|(?:配额|额度|限额|余额|用量)(?:已|不足|用|耗|超|达)|超出(?:限额|配额|额度)|欠费|payment required|credit balance|out of credits|max_budget/i,
  ],
  [
    'denied',
    /(?:denied|declined|rejected|refused|not allowed|blocked|forbidden) by (?:the )?(?:user|person|policy|admin|hook|sandbox|rule)|user (?:has )?(?:denied|declined|rejected|refused)|user doesn't want to proceed|permission (?:was |to use .{0,60})?(?:denied|rejected)(?!.{0,20}api)|policy violation|content[_ ]filter/i,
  ],
  [
    'auth',
    /unauthori[sz]ed|unauthenticated|(?:authenticat|authoriz)\w{1,5}[_ ](?:\w{1,10} ){0,2}(?:error|fail|requir|missing|invalid|expired)|(?:fail|unable|cannot|not|must|need|please|missing|invalid|no|bearer)\w{0,4} (?:to |be )?(?:authenticat|authoriz)|(?:invalid|incorrect|missing|expired|bad|no)[_ ](?:api[_ -]?key|token|credentials?)|api[_ -]?key .{0,30}(?:invalid|incorrect|missing|expired|not valid|not found|required)|token (?:has |is )?(?:expired|invalid|revoked)|run \/login|not (?:logged|signed) in|(?:log|sign) ?in (?:again|first|to )|please (?:log|sign) ?in|(?:密钥|令牌|凭证|api ?key|token|认证|鉴权|登录|授权|身份验证) ?(?:已|无效|错误|失败|过期|失效|缺失)|(?:无效|错误|过期)的? ?(?:api ?)?(?:密钥|令牌|凭证|key|token)|未(?:登录|授权|认证)|请(?:先|重新)登录|PERMISSION_DENIED/i,
  ],
  [
    'rate',
    /rate[_ -]?limit|too many requests|overloaded|RESOURCE_EXHAUSTED|resource (?:has been )?exhausted|throttl|high demand|try again (?:later|in \d)|限流|过于频繁|频率|人数过多|请求过多|次数过多|繁忙|过载|at capacity/i,
  ],
  [
    'network',
    /^terminated\b|\bE(?:CONN(?:REFUSED|RESET|ABORTED)|NOTFOUND|TIMEDOUT|PIPE|AI_AGAIN|HOSTUNREACH|NETUNREACH)\b|UND_ERR|socket hang up|other side closed|fetch failed|network (?:error|timeout|is unreachable)|connection (?:error|refused|reset|closed|timed out|failed|lost)|stream (?:disconnected|closed|ended|error)|(?:request|connection|operation) timed out|server[_ ]error|internal server error|server had an error|bad gateway|service unavailable|gateway time-?out|error sending request|(?:self[- ]signed|expired|invalid|untrusted|unable to .{0,30}) certificate|certificate (?:has expired|is not|verif)|getaddrinfo|(?:网络|连接) ?(?:已|被|超时|错误|异常|中断|断开|失败)|请求超时|无法连接|(?:failed|unable|could not) (?:to )?(?:connect|resolve host)|network unreachable|(?:service|server|model)(?: is)? temporarily unavailable|(?:服务|模型) ?暂时?不可用|服务器内部错误/i,
  ],
]

function classOfStatus(status: number): FailureClass | undefined {
  if (status === 401 || status === 403 || status === 407) return 'auth'
  if (status === 402) return 'quota'
  if (status === 413) return 'context'
  if (status === 429 || status === 529) return 'rate'
  return status === 408 || status >= 500 ? 'network' : undefined
}

/** A status that is named as one: first, in brackets, after `status`, `code`, `HTTP`, `Error`. */
function statusIn(words: string): number | undefined {
  const found = status.exec(words)
  return found ? Number(found[1] ?? found[2]) : undefined
}

const status =
  /^\W{0,2}([45]\d\d)\b|(?:\bstatus(?: ?code)?|\bcode|\bHTTP(?:\/[\d.]{1,3})?|\bError|\bhttp_|\(|失败|拒绝|错误码?|代码)["']?[:：=\s]{0,3}([45]\d\d)\b/i
