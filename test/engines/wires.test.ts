import { describe, expect, test } from 'vitest'
import { acp } from '../../src/engines/acp/acp.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { wireOf } from '../../src/engines/programs.ts'
import { qwen } from '../../src/engines/qwen.ts'
import type { Wire } from '../../src/events/talk-wire.ts'

const start = { cwd: '/w', argv: ['agent'], session: undefined }

describe('ACP', () => {
  const wire = wireOf(acp)!
  const hello = (agentCapabilities: object) => ({ protocolVersion: 1, agentCapabilities })

  test('offers neither files nor a terminal', () => {
    expect(wire.open(start, [], 1)).toMatchObject({
      send: [
        {
          id: 1,
          method: 'initialize',
          params: {
            clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
          },
        },
      ],
    })
  })

  test('a session is new, resumed if that is offered, else loaded, else not there', () => {
    const sent = (capabilities: object, session?: string) =>
      wire.open({ ...start, session }, [hello(capabilities)], 2)
    expect(sent({})).toMatchObject({
      send: [{ method: 'session/new', params: { cwd: '/w', mcpServers: [] } }],
    })
    const both = { loadSession: true, sessionCapabilities: { resume: {} } }
    expect(sent(both, 's')).toMatchObject({
      send: [{ method: 'session/resume', params: { sessionId: 's' } }],
    })
    expect(sent({ loadSession: true }, 's')).toMatchObject({ send: [{ method: 'session/load' }] })
    expect(sent({}, 's')).toEqual({ failed: 'the agent cannot load a session' })
    expect(wire.open(start, [hello({}), {}], 3)).toEqual({ failed: 'the agent named no session' })
    for (const can of [both, { loadSession: true }])
      expect(wire.open({ ...start, session: 's' }, [hello(can), {}], 3)).toEqual({
        session: 's',
        quiet: true,
      })
  })

  test('an answer keeps the type of the id, and no choice is a cancellation', () => {
    expect(wire.answer({ id: '0' }, { option: 'x' })).toEqual({
      jsonrpc: '2.0',
      id: '0',
      result: { outcome: { outcome: 'selected', optionId: 'x' } },
    })
    expect(wire.answer({ id: 0 }, {})).toMatchObject({ id: 0, result: { outcome: { outcome: 'cancelled' } } })
  })

  test('requests are refused, notifications and answers are not', () => {
    expect(wire.refuse({ jsonrpc: '2.0', id: 7, method: 'fs/read_text_file' })).toMatchObject({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32601 },
    })
    expect(wire.refuse({ jsonrpc: '2.0', method: 'session/update' })).toBeUndefined()
    expect(wire.refuse({ jsonrpc: '2.0', id: 7, result: {} })).toBeUndefined()
  })

  test('why a request of ours failed is told with its details', () => {
    const error = { code: -32603, message: 'Internal error', data: { details: 'No previous sessions found' } }
    expect(wire.result({ id: 2, error })).toEqual({
      id: 2,
      error: 'Internal error: No previous sessions found',
    })
    expect(wire.result({ id: 2, result: null })).toEqual({ id: 2, result: {} })
    expect(wire.result({ id: 2, method: 'fs/read_text_file' })).toBeUndefined()
  })
})

describe('codex app-server', () => {
  const wire = wireOf(codex)!
  const thread = (argv: readonly string[], session?: string) =>
    wire.open({ cwd: '/w', argv, session }, [{}], 2)

  test('asks before commands, unless its command line says otherwise', () => {
    expect(thread(['codex', 'app-server'])).toEqual({
      send: [
        { method: 'initialized' },
        { id: 2, method: 'thread/start', params: { cwd: '/w', approvalPolicy: 'untrusted' } },
      ],
    })
    expect(thread(['codex', 'app-server', '-c', 'approval_policy="never"'], 't')).toMatchObject({
      send: [{}, { method: 'thread/resume', params: { threadId: 't', cwd: '/w' } }],
    })
    expect(JSON.stringify(thread(['codex', '-c', 'approval_policy=never']))).not.toContain('untrusted')
    expect(wire.open(start, [{}, { thread: {} }], 3)).toEqual({ failed: 'the server named no thread' })
  })

  test('a turn is interrupted when its id is known', () => {
    expect(wire.interrupt({ session: 't', turn: undefined, id: 4 })).toBeUndefined()
    expect(wire.turn?.({ id: 3, result: { turn: { id: 'u' } } })).toBe('u')
    expect(wire.interrupt({ session: 't', turn: 'u', id: 4 })).toMatchObject({
      method: 'turn/interrupt',
      params: { threadId: 't', turnId: 'u' },
    })
  })

  test('of two rules for a host, the one that was chosen is sent', () => {
    const rule = (action: string) => ({
      applyNetworkPolicyAmendment: { network_policy_amendment: { host: 'example.org', action } },
    })
    const record = {
      id: 0,
      method: 'item/commandExecution/requestApproval',
      params: { availableDecisions: ['accept', rule('allow'), rule('deny'), 'cancel'] },
    }
    const option = 'applyNetworkPolicyAmendment:deny:example.org'
    expect(wire.answer(record, { option })).toEqual({ id: 0, result: { decision: rule('deny') } })
  })

  test('what has no option is dismissed by an error, and an elicitation by its action', () => {
    const asked = { id: 0, method: 'item/permissions/requestApproval', params: {} }
    expect(wire.answer(asked, {})).toMatchObject({ id: 0, error: { code: -32601 } })
    const form = { id: 1, method: 'mcpServer/elicitation/request', params: {} }
    expect(wire.answer(form, { option: 'decline' })).toMatchObject({ result: { action: 'decline' } })
  })
})

describe('the control protocol', () => {
  const asked = {
    type: 'control_request',
    request_id: 'r',
    request: {
      subtype: 'can_use_tool',
      tool_name: 'Bash',
      input: { command: 'ls' },
      permission_suggestions: [
        { type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'ls:*' }], behavior: 'allow' },
        { type: 'setMode', mode: 'bypassPermissions', destination: 'session' },
      ],
    },
  }
  const given = (wire: Wire, choice: Parameters<Wire['answer']>[1]) =>
    (wire.answer(asked, choice) as { response: { response: object } }).response.response

  test('the input is sent as it was asked, and a rule only if it was chosen', () => {
    const wire = wireOf(claude)!
    expect(given(wire, { option: 'allow' })).toEqual({ behavior: 'allow', updatedInput: { command: 'ls' } })
    expect(given(wire, { option: 'addRules:Bash(ls:*):session' })).toEqual({
      behavior: 'allow',
      updatedInput: { command: 'ls' },
      updatedPermissions: [asked.request.permission_suggestions[0]],
    })
    for (const option of ['deny', 'Allow', 'addRules', ''])
      expect(given(wire, { option })).toMatchObject({ behavior: 'deny' })
    expect(given(wire, {})).toMatchObject({ behavior: 'deny' })
  })

  test('Claude Code finds answers by the text of the question, Qwen Code by its position, too', () => {
    const question = { id: '1', question: 'Which?', options: [] }
    const answers = [{ index: 1, question, words: ['a', 'b'] }]
    expect(given(wireOf(claude)!, { answers })).toMatchObject({
      updatedInput: { answers: { 'Which?': 'a, b' } },
    })
    expect(given(wireOf(qwen)!, { answers })).toMatchObject({
      updatedInput: { command: 'ls', answers: { 'Which?': 'a, b', 1: 'a, b' } },
    })
  })

  test('only its command line makes it speak', () => {
    const speaks = (line: string) => wireOf(claude)!.speaks(line.split(' '))
    expect(speaks('claude -p --input-format stream-json --verbose')).toBe(true)
    expect(speaks('claude -p --input-format=stream-json')).toBe(true)
    expect(speaks('claude -p --output-format stream-json')).toBe(false)
  })

  test('other requests are refused, and the answers to ours are told apart', () => {
    const wire = wireOf(claude)!
    const hook = { type: 'control_request', request_id: 'h', request: { subtype: 'hook_callback' } }
    expect(wire.refuse(hook)).toMatchObject({ response: { subtype: 'error', request_id: 'h' } })
    expect(wire.refuse({ type: 'assistant' })).toBeUndefined()
    const response = (request_id: string, more: object) =>
      wire.result({ type: 'control_response', response: { request_id, ...more } })
    expect(response('sluice-3', { subtype: 'success' })).toEqual({ id: 3, result: {} })
    expect(response('sluice-3', { subtype: 'error', error: 'no' })).toEqual({ id: 3, error: 'no' })
    expect(response('other', { subtype: 'success' })).toBeUndefined()
  })
})
