import { Rec } from '../../events/record.ts'
import type { Wire } from '../../events/talk-wire.ts'
import { CLIENT, refusalOf, resultIn } from '../json-rpc.ts'

/**
 * The client's half of the Agent Client Protocol. It announces neither files nor terminals: an agent that may
 * use those of its client would wait for them.
 */
export const acpWire: Wire = {
  speaks: () => true,
  loads: true,
  waits: true,
  open({ cwd, session }, [hello, opened], id) {
    if (!hello) {
      const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false }
      return {
        send: [request(id, 'initialize', { protocolVersion: 1, clientCapabilities, clientInfo: CLIENT })],
      }
    }
    const place = { cwd, mcpServers: [] }
    if (session === undefined) {
      if (!opened) return { send: [request(id, 'session/new', place)] }
      const { sessionId: made } = opened
      return typeof made === 'string' ? { session: made } : { failed: 'the agent named no session' }
    }
    // Without the history, which `session/load` sends again, and Gemini CLI partly after its answer.
    const can = new Rec(hello)
    const resumes = can.record('agentCapabilities.sessionCapabilities.resume') !== undefined
    if (opened) return { session, quiet: true }
    const loads = can.flag('agentCapabilities.loadSession') === true
    if (!resumes && !loads) return { failed: 'the agent cannot load a session' }
    const of = { sessionId: session, ...place }
    if (!resumes) return { send: [request(id, 'session/load', of)] }
    // Qwen Code 0.15 announces `session/resume`, and does not know it.
    const instead = loads && { instead: [request(id + 1, 'session/load', of)] }
    return { send: [request(id, 'session/resume', of)], ...instead }
  },
  say: (prompt, { session, id }) =>
    request(id, 'session/prompt', { sessionId: session, prompt: [{ type: 'text', text: prompt }] }),
  interrupt: ({ session }) => ({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: session } }),
  result: resultIn,
  answer(record, { option }) {
    const outcome =
      option === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: option }
    return { jsonrpc: '2.0', id: record['id'], result: { outcome } }
  },
  refuse: (record) => {
    const refusal = refusalOf(record)
    return refusal && { jsonrpc: '2.0', ...refusal }
  },
}

function request(id: number, method: string, params: object): object {
  return { jsonrpc: '2.0', id, method, params }
}
