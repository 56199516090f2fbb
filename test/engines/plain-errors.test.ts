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
