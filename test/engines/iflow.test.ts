import { describe, expect, test } from 'vitest'
import { auto } from '../../src/engines/auto.ts'
import { iflow } from '../../src/engines/iflow.ts'
import { chat, codesOf, endOf, only, run, texts } from './run.ts'

const id = 'session-00000000-0000-4000-8000-000000000001'
const notice = `ℹ️  Resuming session ${id} (6 messages loaded)`
const statuses = (events: ReturnType<typeof run>) =>
  only(events, 'lifecycle.run.status').map(({ data }) => data.status)

describe('the notice of a resumed session', () => {
  test.each(['stdout', 'stderr', 'pty'] as const)('is read on %s', (channel) => {
    const events = run(iflow, { [channel]: `\n${notice}\n`, exit: 0 })
    expect(statuses(events)).toEqual(['started', 'resumed'])
    expect(events.at(-1)!.correlation.session_id).toBe(id)
  })

  test.each([
    'Resuming session tokens is not supported.',
    'Resuming session management',
    'ℹ️  Resuming session it (6 messages loaded)',
    `${notice} and more`,
    'session-id: required',
    `The session-id: ${id}`,
  ])('is not "%s": that is the answer', (line) => {
    const events = run(iflow, { stdout: `${line}\nDone.\n`, exit: 0 })
    expect(texts(events)).toEqual([`${line}\nDone.`])
    expect(statuses(events)).toEqual([])
  })
})

describe('the session is named by a line', () => {
  test.each([
    `Resuming session ${id}`,
    `Resuming session ${id} (6 messages loaded)`,
    `ℹ️  Resuming session ${id}`,
    `ℹ Resuming session: ${id}...`,
    `Resumed session "${id}".`,
    `Continuing session ${id}`,
    `Restored conversation ${id} (1 message)`,
  ])('that resumes it: %s', (line) => {
    for (const channel of ['stdout', 'stderr', 'pty'] as const) {
      const events = run(iflow, { [channel]: `${line}\nDone.\n`, exit: 0 })
      expect(statuses(events)).toEqual(['started', 'resumed'])
      expect(events.at(-1)!.correlation.session_id).toBe(id)
      if (channel !== 'stderr') expect(texts(events)).toEqual(['Done.'])
    }
  })

  test.each([`session-id: ${id}`, `"session-id": "${id}",`, `Session ID: ${id}`, `ℹ️  session-id: ${id}`])(
    'that says it: %s',
    (line) => {
      for (const input of [
        { stdout: `${line}\nDone.\n` },
        { stdout: `Done.\n\n${line}\n` },
        { stdout: 'Done.\n', stderr: `${line}\n` },
        { pty: `${line}\nDone.\n` },
      ]) {
        const events = run(iflow, { ...input, exit: 0 })
        expect(statuses(events)).toEqual(['started'])
        expect(events.at(-1)!.correlation.session_id).toBe(id)
        expect(texts(events)).toEqual(['Done.'])
      }
    },
  )

  test('behind the time and level of a log, on stderr', () => {
    const stderr = `2026-01-01T00:00:00Z INFO Resuming session ${id}\n`
    expect(statuses(run(iflow, { stderr, exit: 0 }))).toEqual(['started', 'resumed'])
  })

  test('but not by one that the model quotes', () => {
    for (const line of [notice, `session-id: ${id}`]) {
      const stdout = `It printed:\n${line}\nDone.\n`
      const events = run(iflow, { stdout, exit: 0 })
      expect(texts(events)).toEqual([stdout.trimEnd()])
      expect(statuses(events)).toEqual([])
    }
  })
})

describe('the Execution Info', () => {
  const info = `{"session-id": "${id}", "tokenUsage": {"total": 3}}`
  const pretty = `{\n  "session-id": "${id}",\n  "tokenUsage": {\n    "total": 3\n  }\n}`
  const shapes = [
    ['on one line', `<Execution Info>${info}</Execution Info>\n`],
    ['on one line, without a line end', `<Execution Info>${info}</Execution Info>`],
    ['glued to its JSON', `<Execution Info>${pretty}</Execution Info>\n`],
    ['with a glued opener', `<Execution Info>${pretty}\n</Execution Info>\n`],
    ['with a glued closer', `<Execution Info>\n${pretty}</Execution Info>\n`],
    ['that is not closed', `<Execution Info>\n${pretty}\n`],
    ['whose closer is cut off', `<Execution Info>\n${pretty}\n</Execution In`],
    ['whose closer is cut off, on one line', `<Execution Info>${info}</Ex`],
    ['whose closer is cut off, behind its JSON', `<Execution Info>\n${pretty}<`],
    ['that is not closed, on one line', `<Execution Info>${info}`],
  ] as const
  const ended = {
    state: 'awaiting_user_input',
    evidence: { end_signal: '</Execution Info>', truncated: false },
  }

  test.each(shapes)('%s gives session and end, and starts the conversation before the answer', (_, block) => {
    for (const [stdout, stderr, pty] of [
      ['Done.\n', block],
      ['Done.\n', `noise${block}`],
      [`Done.\n${block}`, ''],
      [`Done.${block}`, ''],
      ['', '', `Done.${block}`],
    ] as const) {
      const events = run(iflow, { stdout, stderr, ...(pty && { pty }), exit: 0 })
      expect(texts(events)).toEqual(['Done.'])
      expect(statuses(events)).toEqual(['started', 'execution_info', 'awaiting_user_input'])
      expect(events.at(-1)!.correlation.session_id).toBe(id)
      expect(endOf(events)).toMatchObject(ended)
      expect(endOf(run(auto, { stdout, stderr, ...(pty && { pty }), exit: 0 }))).toEqual(endOf(events))
    }
    const events = run(iflow, { stdout: 'Done.\n', stderr: block, exit: 0 })
    // The answer is shown as it comes, before stderr names the session.
    expect(
      chat(events)
        .map(({ type }) => type)
        .slice(0, 3),
    ).toEqual(['assistant.message.delta', 'conversation.started', 'assistant.message.final'])
    expect(only(events, 'agent.message.final')[0]!.correlation.session_id).toBe(id)
  })

  test('that is cut off names the session, but is no end', () => {
    const stderr = `<Execution Info>\n{\n  "session-id": "${id}",\n  "tokenUsage": {`
    const events = run(iflow, { stdout: 'Done.\n', stderr, exit: 0 })
    expect(events.at(-1)!.correlation.session_id).toBe(id)
    expect(endOf(events)).toMatchObject({ state: 'interrupted', reason_code: 'TRUNCATED' })
    expect(codesOf(events)).toContain('TRUNCATED')
  })

  test('that is no JSON names the session as well', () => {
    for (const body of [`{"session-id": "${id}",,}`, `session-id: ${id}`]) {
      const events = run(iflow, { stderr: `<Execution Info>\n${body}\n</Execution Info>\n`, exit: 0 })
      expect(events.at(-1)!.correlation.session_id).toBe(id)
      expect(endOf(events)).toMatchObject(ended)
    }
  })

  const tokensOf = (block: string) => {
    const events = run(iflow, { stdout: 'Done.\n', stderr: block, exit: 0 })
    expect(texts(events)).toEqual(['Done.'])
    expect(endOf(events)).toMatchObject(ended)
    expect(events.at(-1)!.correlation.session_id).toBe(id)
    return { tokens: endOf(events).tokens, codes: codesOf(events) }
  }

  test.each([
    [
      'with a trailing comma',
      `{"session-id": "${id}", "tokenUsage": {"input": 3, "output": 2, "total": 5,}}`,
    ],
    ['in a fence', `\`\`\`json\n{"session-id": "${id}", "tokenUsage": {"input": 3, "output": 2}}\n\`\`\``],
    ['with single quotes', `{'session-id': '${id}', 'tokenUsage': {'input': 3, 'output': 2}}`],
    ['with comments', `{"session-id": "${id}", // the session\n "tokenUsage": {"input": 3, "output": 2}}`],
  ])('%s keeps its tokens, and is told as repaired', (_, json) => {
    const { tokens, codes } = tokensOf(`<Execution Info>\n${json}\n</Execution Info>\n`)
    expect(tokens).toEqual({ input: 3, output: 2 })
    expect(codes).toContain('OUTPUT_REPAIRED_GENERIC')
  })

  test('that cannot be read is kept as raw, and its loss is told', () => {
    const block = `<Execution Info>\n{"session-id": "${id}",,} tokens: 5\n</Execution Info>\n`
    const { tokens, codes } = tokensOf(block)
    expect(tokens).toBeUndefined()
    expect(codes).toContain('INVALID_JSON')
    const events = run(iflow, { stdout: 'Done.\n', stderr: block, exit: 0 })
    expect(only(events, 'raw.stderr').some(({ data }) => data.line.includes('tokens: 5'))).toBe(true)
  })

  test('with a known field of another kind is kept as raw, too', () => {
    const block = `<Execution Info>\n{"session-id": "${id}", "tokenUsage": "5"}\n</Execution Info>\n`
    expect(tokensOf(block).codes).toContain('UNKNOWN_FIELD')
  })

  test('whose opener is glued to the answer counts with a line behind it', () => {
    const stdout = `Answer<Execution Info>\n${pretty}\n</Execution Info>\nbye\n`
    const events = run(iflow, { stdout, exit: 0 })
    expect(texts(events)).toEqual(['Answer\nbye'])
    expect(events.at(-1)!.correlation.session_id).toBe(id)
    expect(endOf(events)).toMatchObject(ended)
  })

  test.each([
    [`I printed <Execution Info>\n${info}\n</Execution Info>\nThat was it.\n`],
    [`I printed:<Execution Info>\n${info}\n</Execution Info>\nThat was it.\n`],
    [`I printed <Execution Info>${info}</Execution Info> for you.\n`],
    ['Print an <Execution Info> block.\n{"a": 1}\nThat is all.\n'],
    [`<Execution Info>${info}</Execution Info>\nThat was it.\n`],
  ])('is not what the model quotes: %s', (stdout) => {
    const events = run(iflow, { stdout, exit: 0 })
    expect(texts(events)).toEqual([stdout.trimEnd()])
    expect(endOf(events)).toMatchObject({ state: 'unknown', evidence: { end_signal: null } })
  })
})

describe('the answer', () => {
  const block = `<Execution Info>\n{"session-id": "${id}"}\n</Execution Info>\n`

  test('is read on stderr, where stdout has none', () => {
    const events = run(iflow, { stderr: `Which file?\nThis one?\n${block}`, exit: 0 })
    expect(texts(events)).toEqual(['Which file?\nThis one?'])
    expect(chat(events).at(-2)!.type).toBe('user.input.required')
    expect(endOf(run(iflow, { stdout: '\n', stderr: 'Which file?\n', exit: 0 })).state).toBe('unknown')
  })

  test('is read on the PTY, where stdout has none', () => {
    for (const input of [
      { stdout: '\n', stderr: block, pty: `Which file?\r\n${block.replaceAll('\n', '\r\n')}` },
      { stdout: '', pty: `Which file?\r\n${block.replaceAll('\n', '\r\n')}` },
    ]) {
      const events = run(iflow, { ...input, exit: 0 })
      expect(texts(events)).toEqual(['Which file?'])
      expect(endOf(events)).toMatchObject({ state: 'awaiting_user_input' })
    }
  })

  test('is stdout alone, if that has one', () => {
    const events = run(iflow, { stdout: 'Done.\n', stderr: `noise\n${block}more noise\n`, exit: 0 })
    expect(texts(events)).toEqual(['Done.'])
    expect(only(events, 'raw.stderr').map(({ data }) => data.line)).toEqual(['noise', 'more noise'])
  })

  test.each([
    '2026-01-01T00:00:00Z INFO started',
    '[DEBUG] started',
    'WARN: slow',
    '(node:12) Warning: deprecated',
    '    at run (a.js:1:1)',
  ])('is never a line of a log: %s', (line) => {
    expect(texts(run(iflow, { stderr: `${line}\n${block}`, exit: 0 }))).toEqual([])
  })
})

test('the layers of iFlow do not need each other', () => {
  const block = '```json\n{"x":1}\n```'
  const layers = { pattern: `Resuming session ${id}\n`, block, rest: 'Prose.' }
  for (const pattern of [true, false])
    for (const json of [true, false])
      for (const rest of [true, false]) {
        const stdout = [rest && layers.rest, json && layers.block].filter(Boolean).join('\n')
        const events = run(iflow, { stdout, stderr: pattern ? layers.pattern : '', exit: 0 })
        expect(statuses(events)).toEqual(pattern ? ['started', 'resumed'] : [])
        expect(texts(events)).toEqual(stdout === '' ? [] : [stdout])
        expect(only(events, 'agent.message.final').map(({ data }) => data.structured_payload)).toEqual(
          stdout === '' ? [] : [json ? { x: 1 } : undefined],
        )
      }
})
