/**
 * An error that a CLI prints as a line of its own, in plain words, English or Chinese. It could be a model's
 * answer as well, so it counts only where no answer is: on stderr, beside a document, or as all that was
 * written. What failed and how must be all that its first clause says; what follows is a detail or advice.
 *
 * @example
 * plainError('Rate limit exceeded. Please retry later.') // the line
 * plainError('Rate limit exceeded means that you sent too much.') // undefined
 */
export function plainError(text: string): string | undefined {
  const line = text.trim()
  //        timeout: undefined,
  if (/^\s\s/.test(text) || /[,;{[(]$/.test(line)) return undefined
  if (line.length > MAX_LINE || line.includes('\n') || about.test(line) || explains.test(line))
    return undefined
  if (COMMAND_MISSING.test(line)) return line
  //  Error: Network error: getaddrinfo ENOTFOUND api.example
  //  ^ label ^ what failed  ^ detail
  let words = line.replace(/^[^\p{L}\p{N}[]{1,4}/u, '')
  for (let labels = 0; labels < MAX_LABELS; labels++) {
    const end = words.search(CLAUSE_END)
    const clause = end < 0 ? words : words.slice(0, end)
    const rest = words.slice(clause.length)
    const isStatus = labels > 0 && /^[45]\d\d$/.test(clause)
    const core = clause.trim().replace(/^[45]\d\d /, '')
    if (isStatus || isFailure(core)) return toldWork.test(rest) ? undefined : line
    if (!label.test(clause) || !/^[:：]/.test(rest)) return undefined
    words = rest.slice(1).trim()
  }
  return undefined
}

const MAX_LINE = 300
const MAX_LABELS = 3
const CLAUSE_END = /[:.!](?:\s|$)|, | [-–([]|[：。！，；（]|[(]/
//  zsh: command not found: iflow     iflow: command not found
const COMMAND_MISSING =
  /^(?:\S{1,60}: ){0,2}(?:command not found|(?:找不到|未找到)命令)(?:[:：] ?\S{1,60})?$/i
const label =
  /^(?:[\w ]{0,40}error|Failed|Failure|(?:API |系统|网络)?(?:错误|报错|异常|失败|出错)(?:信息|代码|码)?)$/i

/** Words of a sentence about an error. */
export const about =
  /\b(?:means?|meaning|indicates?|signals|stands for|refers to|occurs?|happens?|is (?:what|returned|sent|caused|usually))\b/i

/** What is told to a person who asked, not what went wrong here. */
const explains =
  /[?？]|\b(?:you (?:can|should|need|could|may)|your (?:code|tests?|server|function)|because|usually|should be|for example|e\.g\.,|(?:when|if) (?:the|a|you)|so that|let me|I)\b|表示|意味|意思|说明|因为|由于|通常|指的?是|如果|可能|建议|应该?|可以|原因|怎么|如何|为什么|例如|比如|会在|当(?!前|日|月)/i

/** Behind an error: what a model did about one, or where it wrote these words. */
const toldWork =
  /\b(?:this is|these are|was|were|allowed|added|fixed|changed|removed|renamed|updated|translated|handled|implemented|raised|raising|increased|message|banner|now)\b|已(?!断|过|被|失|用|达|超|耗)|新的|增加|添加|修复|解决|改为|改成|提示|文案|逻辑/i

/** Whether a clause says only what failed, and how. */
function isFailure(clause: string): boolean {
  //  Rate limit exceeded     The model is currently overloaded     Resource has been exhausted for today
  //  ^ thing    ^ how        ^ thing  ^ how                        ^ thing  ^ how              ^ where
  const thing = behind(clause, THING)
  if (isWhere(thing === undefined ? undefined : behind(thing, HOW))) return true
  //  Your account has insufficient balance     Invalid API key provided
  const lack = behind(thing === undefined ? clause : thing.replace(/^ has /, ''), LACK)
  if (isWhere(lack === undefined ? undefined : behind(lack, THING))) return true
  return (
    isWhere(behind(clause, SAID_TO_USER)) ||
    isWhere(behind(clause, FIXED)) ||
    whole.some((one) => one.test(clause))
  )
}

/** What follows the pattern at the start of a text. */
function behind(text: string, pattern: RegExp): string | undefined {
  const found = pattern.exec(text)
  return found ? text.slice(found[0].length) : undefined
}

/** Nothing, or ` provided`, ` for quota metric "requests"`, ` on this model`, ` after 30s`. */
function isWhere(text: string | undefined): boolean {
  return text !== undefined && WHERE.test(text)
}

const WHERE = /^(?: (?:provided|supplied|\d{3}|(?:for|on (?:this|the|your)|by|after|with|to|at) .{1,80}))?$/i
const THING =
  /^(?:(?:the|your|this|current|daily|weekly|monthly|hourly|free|api|account|user|usage|token|request|rate|access|model|gateway|upstream|remote|ssl|tls|tier) ){0,4}(?:quota|(?:rate|usage|token|request|quota|api|daily|weekly|monthly|hourly|spending) limits?|resources?|access|balance|credits?|funds|requests?|connection|network|socket|stream|servers?|service|model|api call|api|keys?|tokens?|credentials?|certificate|session|login|account|user|capacity|context(?: length| window| size)?|authentication|authorization|permissions?|fetch)(?= |$)/i
const HOW =
  /^(?: (?:has|have|is|was|are|been|limit|temporarily|currently|already)){0,4} (?:exceeded|exhausted|reached|hit|limited|used up|failed|failure|error|refused|denied|reset|timed out|timeout|closed|aborted|interrupted|disconnected|lost|unavailable|unreachable|overloaded|busy|down|invalid|incorrect|missing|expired|revoked|disabled|suspended|insufficient|required|not (?:authenticated|authorized|valid|found|available|reachable|logged in|signed in)|too (?:long|large))(?= |$)/i
const LACK = /^(?:invalid|incorrect|missing|expired|insufficient|no remaining) /i
//  You have exhausted your daily quota on this model     You exceeded your current quota
const SAID_TO_USER =
  /^you(?:['’]ve| have)? (?:exceeded|exhausted|reached|hit|used up|run out of) (?:your |the )?(?:[\w.-]{1,40} ){0,5}?(?:quota|limit|capacity|credits|balance|requests)(?= |$)/i
const FIXED =
  /^(?:(?:fetch|request|connect|call) (?:to \S{1,200} )?failed|(?:failed|unable) to (?:fetch|connect|authenticate|reach|resolve)|could not (?:connect|resolve host|authenticate)|(?:request |connection )?time(?:d )?out|out of (?:credits|quota|tokens)|too many requests|un(?:authorized|authenticated)|not logged in|login required|please (?:log ?in|sign in)|internal (?:server )?error|bad gateway|gateway time-?out|socket hang up)(?= |$)/i

const whole = [
  //  connect ETIMEDOUT 10.0.0.1:443     RESOURCE_EXHAUSTED
  /^(?:(?:\w{1,20} )?E(?:CONN|TIMEDOUT|NOTFOUND|AI_AGAIN|PIPE|HOST|NET|PROTO)[A-Z]{0,12}(?: \S{1,200})?|RESOURCE_EXHAUSTED|UNAUTHENTICATED|PERMISSION_DENIED|UNAVAILABLE|DEADLINE_EXCEEDED|RATE_LIMIT_EXCEEDED)$/,
  //  API 调用超出限额     您的免费额度已用完     服务器内部错误     当前访问人数过多
  /^(?:(?:您的?|你的|当前|今日|本月|免费|账户|账号|用户|系统|API|网络|接口|模型|远程|使用|每日|Token) ?){0,4}(?:请求|访问|调用|连接|网络|服务器?|系统|模型|接口|认证|鉴权|登录|授权|身份验证|会话|配额|额度|限额|余额|用量|次数|流量|人数|频率|账户|账号|密钥|Key|令牌|Token|凭证)(?:频率|次数|人数|调用|连接|状态|内部)? ?(?:已经?|暂时?|太|过于)?被?(?:重置|失败|错误|超时|异常|中断|拒绝|断开|不可用|过期|过载|繁忙|失效|受限|限流|出错|用尽|用完|耗尽|不足|超限|超出(?:限[制额])?|达到?上限|频繁|过多|过高|无效|缺失|欠费|停用)$/i,
  /^(?:无效|错误|过期|缺失|缺少)的? ?(?:API ?)?(?:密钥|秘钥|Key|令牌|Token|凭证)$/i,
  /^(?:您|你)?(?:已?超[出过]|已?达到|触发)了?(?:API ?|每日|今日|本月)?(?:速率|频率|配额|额度|请求|用量|使用)的?(?:限制|上限|限流)$/i,
  /^(?:已?被|触发|已触发)?限流$|^未(?:登录|授权|认证)$|^(?:无法|不能)连接到?(?:服务器?|网络|API)$|^(?:请先|需要)登录$/i,
]
