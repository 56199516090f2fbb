import { clip } from '../base/fault.ts'
import { isRecord } from '../events/engine.ts'
import { Rec } from '../events/record.ts'
import type { WireRecord, WireResult } from '../events/talk-wire.ts'
import { errorText } from './error-text.ts'

// What the wires of JSON-RPC share.

/** Who speaks to the agent. The version is that of what is said, so that every release says the same. */
export const CLIENT = { name: 'agent-sluice', title: 'agent-sluice', version: '1' }

const METHOD_NOT_FOUND = -32601

/** Refuses a request of the agent that we do not serve; undefined if the record is not a request. */
export function refusalOf(record: WireRecord): object | undefined {
  const { id, method } = record
  if (id === undefined || typeof method !== 'string') return undefined
  return { id, error: { code: METHOD_NOT_FOUND, message: 'agent-sluice does not serve this request' } }
}

/** The result of a request of ours, or why it failed. */
export function resultIn(record: WireRecord): WireResult | undefined {
  const { id, method, result } = record
  if (typeof id !== 'number' || method !== undefined) return undefined
  const error = Rec.of(record['error'])
  if (!error) return { id, result: isRecord(result) ? result : {} }
  const message = errorText(error.values)
  const details = error.text('data data.details data.message')
  const unknown = error.at('code') === METHOD_NOT_FOUND
  return {
    id,
    ...(unknown && { unknown }),
    error: clip(details === undefined ? message : `${message}: ${details}`, 300),
  }
}
