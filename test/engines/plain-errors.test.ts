import { describe, expect, test } from 'vitest'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { iflow } from '../../src/engines/iflow.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { chat, endOf, only, run, texts } from './run.ts'

const errors = [
  'fetch failed: ECONNRESET',
  '请求失败: 429',
  '错误：配额已用尽',
  'Rate limit exceeded. Please retry later.',
  '错误：请求失败',
  'Quota exceeded',
  'Too many requests, please try again later.',
  'Network error: ETIMEDOUT',
  'Service unavailable',
  'Authentication failed: invalid token',
  '网络连接超时，请稍后重试',
  'API 密钥无效',
  '请求过于频繁，请稍后再试。',
  '服务器繁忙，请稍后重试',
  '请求失败（状态码：429）',
  '登录已过期',
]

/** The same class in other words: by the sentence, not by the phrase. */
const otherErrors = [
  "Quota exceeded for quota metric 'Generate Content API requests per minute'",
  'Error: Request timed out after 60000ms',
  'You have exhausted your daily quota on this model.',
  'Resource has been exhausted (e.g. check quota).',
  'RESOURCE_EXHAUSTED: Quota exceeded',
  'Error: model is overloaded. Please try again later.',
  'The model is overloaded. Please try again later.',
  'Invalid API key provided',
  'API key not valid. Please pass a valid API key.',
  'Your account has insufficient balance',
  'Connection refused: 127.0.0.1:8080',
  'Network error: getaddrinfo ENOTFOUND api.iflow.cn',
  'connect ETIMEDOUT 10.0.0.1:443',
  'Service temporarily unavailable (503)',
  'Permission denied: API not enabled',
  "User not authenticated. Please run 'iflow login'.",
  'Session expired, please log in again.',
  'request to https://generativelanguage.googleapis.com failed, reason: socket hang up',
  'SSL error: certificate has expired',
  'Context length exceeded: 1048576 tokens',
  '请求频率过高，请稍后再试',
  '错误: 无效的 API 密钥',
  '网络错误：无法连接服务器',
  '服务繁忙，请稍后重试。',
  '您的免费额度已用完',
  '模型调用失败：502',
  '认证失败，请重新登录',
  'API 调用超出限额',
  '余额不足，请充值',
  '令牌已过期，请重新登录',
  '服务器内部错误',
  '系统错误：请稍后重试',
  '当前访问人数过多，请稍后再试',
  '错误代码：429',
  '触发限流，请稍后重试',
  '连接超时（30秒）',
  'Error: You exceeded your current quota, please check your plan and billing details.',
  'Error: Your daily request limit has been reached.',
  'Error: 429 Rate limit reached for gpt-4o',
  'Rate limit hit - waiting 30s',
  'Failed to authenticate: token expired',
  'Login failed: invalid credentials',
  'The service is temporarily unavailable, please try again in a few minutes.',
  'Connection reset by peer',
  'Network unreachable',
  'Error: Insufficient credits. Add more using https://example.com/credits',
  'Model not found: gemini-9',
  'Access denied: your region is not supported',
  'Request aborted',
  'API Error: quota exhausted',
  'Server error: 500',
  'Token limit exceeded',
  'Failed to connect to api.iflow.cn',
  'Unable to connect to the server',
  'Could not resolve host: api.iflow.cn',
  'Timeout: no response after 60s',
  'Out of credits',
  '配额已超限',
  '今日调用次数已达上限',
  '免费额度已耗尽，请升级套餐',
  'API Key 无效',
  '账户余额不足',
  '登录已失效，请重新登录',
  '请求被拒绝：403',
  '网络异常，请检查网络连接',
  '模型暂时不可用',
  '服务暂不可用，请稍后再试',
  '调用失败：超时',
  '认证错误：token 无效',
  '您已达到每日使用上限',
  '连接被重置',
]

/** Answers about errors. */
const answers = [
  'Rate limit exceeded means that you sent too much.',
  'A 429 error means too many requests.',
  'The quota is reset each day.',
  'To handle "Too many requests", back off.',
  'Quota exceeded errors are raised by checkQuota().',
  'Too many requests are being sent by the loop.',
  'I fixed the rate limit handling.',
  'Request failed tests were removed.',
  'Request failed: your code calls the wrong URL',
  'Unauthorized users are now redirected.',
  'Connection refused errors happen when the server is down.',
  'Rate limit: 100 requests per minute',
  'Rate limited endpoints: /a, /b',
  'Quota exceeded? Check the dashboard.',
  'Bad gateway is returned by nginx.',
  'Service unavailable page added',
  '错误码 429 表示请求过多。',
  '配额已用尽时，请升级套餐并联系管理员处理',
  '请求失败的原因是网络不稳定。',
  '错误：变量未定义，应改为 let x',
  '错误: 第3行缺少分号',
  '已修复错误：请求失败时不再重试',
  '请求失败重试逻辑已实现',
  '429 是请求过多的状态码',
  '限流功能已经实现',
  '登录失败的用户会被锁定',
  '请求超时设置为 30 秒',
  '错误信息：见日志',
  '配额：每天 100 次',
  'A 429 means that too many requests were sent.',
  'HTTP 429 is the status for rate limits; back off and retry.',
  'Rate limit exceeded is what the server says when you send too many requests.',
  'The error "quota exceeded" appears when the monthly limit is used up.',
  'I fixed the 429 handling in client.ts.',
  'Rate limit handling was added to the client.',
  'Quota checks are done in quota.ts.',
  'The quota is 60 requests per minute.',
  'Too many requests were queued, so I limited the pool to 10.',
  'Service unavailable errors are now retried three times.',
  'Unauthorized users are redirected to /login.',
  'Authentication failed tests now pass.',
  'Connection refused errors are logged in server.log.',
  'Session expired banners are shown now.',
  'Network error handling: I added a retry.',
  'Fetch failed because the URL was wrong; I fixed it.',
  'The build failed: command not found: tsc was printed because node_modules was missing.',
  'Invalid credentials return 401 now.',
  'Internal server error pages are rendered by error.tsx.',
  'The API key is read from GEMINI_API_KEY.',
  'Rate limits: 60 per minute, 1000 per day.',
  'Errors found: 3. Fixed: 3.',
  'Error: this function should throw when x is undefined. I added the throw.',
  'TypeError: the test now expects this one.',
  '429 tests passed.',
  '500 lines were changed.',
  '404 pages are served from public/404.html',
  'Timeout is 30 s by default.',
  'Quota: 100 GB, used: 42 GB.',
  '错误处理已经加好了。',
  '错误：第 3 行缺少分号，已修复。',
  '429 是限流的状态码。',
  '配额检查在 quota.ts 里。',
  '请求失败时会自动重试三次。',
  '请求失败的原因是超时设置太短，已改为 30 秒。',
  '我已修复请求失败的问题。',
  '额度用完后会返回 429。',
  '登录失败的提示已经改成中文。',
  '网络错误的处理逻辑在 net.ts。',
  '连接超时现在是 10 秒。',
  '超时时间已改为 60 秒。',
  '认证失败的测试现在通过了。',
  '服务器错误页面已经添加。',
  '余额不足时按钮会变灰。',
  '令牌已过期的情况由中间件处理。',
  '限流器使用令牌桶算法。',
  '错误日志写入 error.log。',
  '未登录用户会跳转到登录页。',
  '已添加“请求过于频繁”的提示。',
  '配额：每分钟 60 次。',
  '请求超时测试：3 个通过。',
  '错误率下降到 0.1%。',
  'The rate limit is exceeded in this test on purpose.',
  'Error handling is done.',
  'Failed: 0, passed: 12.',
  'Request timed out tests: 4 passed.',
  'Unauthorized.tsx was added.',
  'The server is down for maintenance in the screenshot, so I used a mock.',
  'Too many requests? Add a backoff.',
  'Quota exceeded: this is the message users will now see.',
  'Rate limit exceeded: the message is translated now.',
  '服务不可用：这是新的提示文案。',
  'Session expired: added to the list of messages.',
  'Connection timed out: fixed by raising the limit.',
  '请求失败：已修复。',
  '网络异常：增加了重试逻辑。',
  'The login failed message is in i18n/en.json.',
  'Token limit exceeded errors now carry a hint.',
  'Server error pages: 404 and 500.',
  'Access denied for guests, allowed for members.',
  'Connection pooling is enabled.',
  'Model not found in the registry, so I registered it.',
  'The request was aborted on purpose.',
  'Insufficient test coverage: 42 %.',
  'Failed to reproduce the bug.',
  'Failed: none.',
  'Network: ok. Database: ok.',
  'The API key is invalid in the fixture, which is intended.',
  'Service worker registered.',
  'Unauthorized access is logged.',
  'Session storage is used.',
  'User not found page added.',
  'Request limit: 10 MB.',
  'Limit reached: 3 of 3 retries.',
  'Resources are loaded lazily.',
  'Invalid user input is rejected.',
  'Certificates are stored in /etc/ssl.',
  'Account deleted.',
  'Quota.ts',
  'Timeout raised to 60 s.',
  'Error messages are now translated.',
  '错误信息已经翻译成中文。',
  '请求超时已改为 60 秒。',
  '网络请求封装在 http.ts。',
  '登录失败次数限制为 5 次。',
  '配额不足时显示提示。',
  '服务器启动成功。',
  '连接池大小为 10。',
  '密钥存放在 .env 中。',
  '429 错误已经处理。',
  '接口返回 200。',
  '限流已开启。',
  '访问频率限制：每秒 10 次。',
  '用户未登录时跳转。',
  '已连接到服务器。',
  '额度：1000。',
]

const info =
  '\n<Execution Info>\n{"session-id":"session-1","tokenUsage":{"input":1,"output":1}}\n</Execution Info>\n'

describe.each(errors)('%s', (line) => {
  test('as the whole output is an error of the CLI', () => {
    for (const engine of [gemini, iflow]) {
      const events = run(engine, { stdout: `${line}\n`, exit: 0 })
      expect(texts(events), engine.name).toEqual([])
      expect(endOf(events).outcome, engine.name).toBe('failed')
    }
  })

  test('beside a document, or on stderr, is told as an error, and no message', () => {
    const document = JSON.stringify({ session_id: 's-1', response: 'Hello.', stats: {} }, null, 2)
    const beside = run(gemini, { stdout: `${line}\n`, stderr: document, exit: 0 })
    expect(texts(beside)).toEqual(['Hello.'])
    expect(only(beside, 'diagnostic.engine.error')).toHaveLength(1)
    const alone = run(iflow, { stderr: `${line}\n`, exit: 1 })
    expect(texts(alone)).toEqual([])
    expect(only(alone, 'diagnostic.engine.error')).toHaveLength(1)
  })

  test('before the Execution Info of iFlow is the answer', () => {
    expect(texts(run(iflow, { stdout: `${line}\n`, stderr: info, exit: 0 }))).toEqual([line])
  })
})

test.each(otherErrors)('%s, as all that was written, is an error', (line) => {
  for (const engine of [gemini, iflow]) {
    const events = run(engine, { stdout: `${line}\n`, exit: 0 })
    expect([texts(events), endOf(events).outcome], engine.name).toEqual([[], 'failed'])
  }
})

test.each([
  ['您的免费额度已用完', 'quota'],
  ['You have exhausted your daily quota on this model.', 'quota'],
  ['错误: 无效的 API 密钥', 'auth'],
  ['未登录', 'auth'],
  ['触发限流，请稍后重试', 'rate'],
  ['请求失败: 429', 'rate'],
  ['模型调用失败：502', 'network'],
  ['连接超时（30秒）', 'network'],
])('%s is a failure of the class %s', (line, failure_class) => {
  for (const engine of [gemini, iflow])
    expect(endOf(run(engine, { stdout: `${line}\n`, exit: 0 }))).toMatchObject({ failure_class })
})

test.each(answers)('an answer about errors stays a good end: %s', (line) => {
  for (const engine of [gemini, iflow]) {
    const events = run(engine, { stdout: `${line}\n`, ...(engine === iflow && { stderr: info }), exit: 0 })
    expect(texts(events), engine.name).toEqual([line])
    expect(only(events, 'diagnostic.engine.error'), engine.name).toEqual([])
  }
  expect(texts(run(iflow, { stdout: `${line}\n`, exit: 0 }))).toEqual([line])
})

describe('the Execution Info ends a turn of iFlow when it is read', () => {
  const cases: Record<string, readonly (readonly ['stdout' | 'stderr', string])[]> = {
    'on stderr': [
      ['stdout', 'Which file?\n'],
      ['stderr', info],
    ],
    'on stdout': [['stdout', `Which file?\n${info}`]],
    'on stdout without a line end': [['stdout', `Which file?\n${info.trimEnd()}\n`]],
    'with all on stderr': [['stderr', `Which file?\n${info}`]],
    'of two turns on stdout': [['stdout', `Which file?\n${info}Which file?\n${info}`]],
  }
  test.each(Object.entries(cases))('%s', (name, chunks) => {
    const told: AgentEvent[] = []
    const stage = eventStage(iflow, { clock: () => 0 })({ write: (event) => told.push(event), end() {} })
    for (const [channel, text] of chunks)
      stage.write({ channel, bytes: Buffer.from(text), channels: ['stdout', 'stderr'] })
    const turns = name.includes('two') ? 2 : 1
    // Nothing has ended yet.
    expect(texts(told)).toEqual(Array(turns).fill('Which file?'))
    expect(chat(told).filter(({ type }) => type === 'user.input.required')).toHaveLength(turns)
    stage.end()
    expect(texts(told)).toHaveLength(turns)
  })

  test('but not one that the model quotes, or beside logs alone', () => {
    const fenced = `So:\n\`\`\`\n${info}\`\`\`\nWhich file?\n`
    expect(texts(run(iflow, { stdout: fenced, stderr: info, exit: 0 }))).toHaveLength(1)
    const empty = 'So:\n<Execution Info>\n{"session-id":"session-2"}\n</Execution Info>\nWhich file?\n'
    expect(texts(run(iflow, { stdout: empty, stderr: info, exit: 0 }))).toHaveLength(1)
    const told: AgentEvent[] = []
    const stage = eventStage(iflow)({ write: (event) => told.push(event), end() {} })
    stage.write({ channel: 'stderr', bytes: Buffer.from(`mcp: connected\n${info}`) })
    stage.write({ channel: 'stdout', bytes: Buffer.from('Which file?\n') })
    stage.end()
    expect(texts(told)).toEqual(['Which file?'])
  })
})

test('a line of an object that is printed is no error', () => {
  for (const line of ['      timeout: undefined,', 'timeout: 30,', '  request: failed'])
    expect(only(run(iflow, { stderr: `${line}\n`, exit: 1 }), 'diagnostic.engine.error'), line).toEqual([])
})

test('a command that is not found is an error on stderr', () => {
  for (const line of [
    'command not found: iflow',
    'zsh: command not found: iflow',
    'iflow: command not found',
  ]) {
    const events = run(iflow, { stderr: `${line}\n`, exit: 127 })
    expect(texts(events), line).toEqual([])
    expect(only(events, 'diagnostic.engine.error'), line).toHaveLength(1)
  }
})
