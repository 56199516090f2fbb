import { setTimeout as delay } from 'node:timers/promises'
import type { StreamInfo } from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import { Fault, quote } from '../base/fault.ts'
import { type BlockEnd, type Broker, Rewound, type RunName, type StoredBlock } from './broker.ts'
import { ANSWER_MS, brokerFault, connectNats, isNamed, type NatsClient } from './nats-client.ts'
import { DEFAULT_STREAM, type NatsOptions } from './nats-options.ts'

/** Larger blocks are no faster, and a stream is kept in blocks of a few MB. */
const MAX_BLOCK = 256 * 1024
/** What subject and headers can take of the limit for a message. */
const HEADER_ROOM = 4096
/** Blocks that are on their way to a reader: 8 MiB at most. */
const AHEAD = 32
/** A reader whose consumer is silent for two of these makes a new one. */
const HEARTBEAT_MS = 1500
const RETRY_MS = 200

/** Runs in a stream of JetStream. A block is one message; its place is its sequence number in the stream. */
export async function natsBroker(options: NatsOptions): Promise<Broker> {
  const client = await connectNats(options)
  const { stream = DEFAULT_STREAM } = options
  try {
    await openStream(client, stream, options.replicas ?? 1)
  } catch (error) {
    await client.close()
    throw brokerFault(error, client.shown)
  }
  const { js, manager, connection, transport } = client
  const subject = ({ tenant, run }: RunName) => `${stream}.${tenant}.${run}`

  return {
    maxBlock: Math.min(MAX_BLOCK, (connection.info?.max_payload ?? 1 << 20) - HEADER_ROOM),
    async append(name, end, bytes, after) {
      const headers = writeEnd(transport.headers(), end)
      try {
        const expect = { streamName: stream, lastSubjectSequence: after }
        const { seq } = await client.answer(() =>
          js.publish(subject(name), bytes, { headers, timeout: ANSWER_MS, expect }),
        )
        return seq
      } catch (error) {
        if (isConflict(error)) return undefined
        throw isFinal(error) ? brokerFault(error, client.shown) : error
      }
    },
    async last(name) {
      const query = { last_by_subj: subject(name) }
      try {
        const direct = client.answer(() => manager.direct.getMessage(stream, query))
        const message = await direct.catch((error) => {
          if (isFinal(error)) throw error
          // A stream that was made by others may not allow it.
          return client.answer(() => manager.streams.getMessage(stream, query))
        })
        return message ? { at: message.seq, end: readEnd(message.header) } : undefined
      } catch (error) {
        throw isFinal(error) ? brokerFault(error, client.shown) : error
      }
    },
    async state() {
      const { created, state } = await client.answer(() => manager.streams.info(stream))
      return { id: created, last: state.last_seq }
    },
    async *read(from, { tenant = '*', run = '*' }, signal) {
      let next = from
      for (let failures = 0; !signal.aborted; failures++) {
        try {
          await client.connected(signal)
          if (failures > 0) await delay(RETRY_MS, undefined, { signal })
          for await (const block of consumed(client, stream, subject({ tenant, run }), next, signal)) {
            next = block.at + 1
            failures = 0
            yield block
          }
        } catch (error) {
          if (signal.aborted) return
          if (error instanceof Rewound || Fault.is(error)) throw error
          if (isFinal(error)) throw brokerFault(error, client.shown)
        }
      }
    },
    reachable: (signal) => client.connected(signal),
    close: client.close,
  }
}

/** Blocks from one consumer, until it, the connection or the server fails. */
async function* consumed(
  { js, manager, connection, answer }: NatsClient,
  stream: string,
  filter: string,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<StoredBlock, void> {
  const { state } = await answer(() => manager.streams.info(stream))
  if (state.last_seq < from - 1) throw new Rewound(`the stream ends at ${state.last_seq}, before ${from - 1}`)
  // A text: a list needs a server of 2.10.
  const start = { filter_subjects: filter, opt_start_seq: Math.max(1, from) }
  const consumer = await answer(() => js.consumers.get(stream, start))
  const messages = await consumer.consume({
    max_messages: AHEAD,
    expires: 4 * HEARTBEAT_MS,
    idle_heartbeat: HEARTBEAT_MS,
  })
  const stop = () => void messages.close()
  signal.addEventListener('abort', stop, { once: true })
  // The consumer would mend itself, but only after up to its time of expiry; a new one takes some milliseconds.
  void (async () => {
    for await (const { type } of messages.status()) if (broken.has(type)) stop()
  })().catch(() => {})
  const status = connection.status()
  void (async () => {
    for await (const { type } of status) if (type === 'disconnect' || type === 'reconnect') stop()
  })().catch(() => {})
  try {
    for await (const message of messages) {
      // Those that have come already are handed out after it is stopped.
      if (signal.aborted) return
      const [, tenant = '', run = '', ...more] = message.subject.split('.')
      if (run === '' || more.length > 0) throw foreign(stream, message.seq, 'its subject has other parts')
      yield { at: message.seq, name: { tenant, run }, end: readEnd(message.headers), bytes: message.data }
    }
  } finally {
    signal.removeEventListener('abort', stop)
    // It has this, and the type does not say so.
    ;(status as { stop?: () => void }).stop?.()
    stop()
    if (!connection.isClosed()) void consumer.delete().catch(() => {})
  }
}

const broken: ReadonlySet<string> = new Set([
  'heartbeats_missed',
  'consumer_not_found',
  'consumer_deleted',
  'stream_not_found',
  'no_responders',
])

/** Makes the stream if it is missing. A user who may not ask about it goes on: every block names the stream it is for. */
async function openStream({ manager, shown }: NatsClient, stream: string, replicas: number): Promise<void> {
  for (let turn = 1; ; turn++) {
    try {
      const { config } = await manager.streams.info(stream)
      checkStream(config, stream)
      return
    } catch (error) {
      if (isNamed(error, 'PermissionViolationError')) return
      if (!isMissing(error)) {
        if (Fault.is(error) || isFinal(error) || turn >= MAX_TURNS) throw error
        await delay(RETRY_MS * turn)
        continue
      }
    }
    try {
      await manager.streams.add({
        name: stream,
        subjects: [`${stream}.>`],
        num_replicas: replicas,
        allow_direct: true,
      })
    } catch (error) {
      if (isNamed(error, 'PermissionViolationError') || turn >= MAX_TURNS)
        throw new Fault(
          'BROKER_FAILED',
          `${shown} has no stream ${quote(stream)}, and it could not be made (${quote((error as Error).message, 120)}): nats stream add ${stream} --subjects "${stream}.>" --allow-direct`,
          { cause: error },
        )
      // Another process may have made it, or the cluster has no leader yet.
      await delay(RETRY_MS * turn)
    }
  }
}

const MAX_TURNS = 12

function checkStream({ subjects }: StreamInfo['config'], stream: string): void {
  if (subjects?.some((subject) => subject === `${stream}.>` || subject === `${stream}.*.*`)) return
  throw new Fault(
    'BROKER_FAILED',
    `the stream ${quote(stream)} has other subjects (${quote(String(subjects), 100)}) than ${stream}.>; name another stream`,
  )
}

const HEADERS = {
  last: 'Sluice-Last',
  hash: 'Sluice-Hash',
  part: 'Sluice-Part',
  from: 'Sluice-From',
  over: 'Sluice-Over',
} as const

function writeEnd(headers: MsgHdrs, { attempt, seq, hash, part, from, over }: BlockEnd): MsgHdrs {
  headers.set(HEADERS.last, `${attempt}.${seq}`)
  headers.set(HEADERS.hash, hash)
  if (part) headers.set(HEADERS.part, `${part.bytes} ${part.hash}`)
  if (from) headers.set(HEADERS.from, String(from))
  if (over) headers.set(HEADERS.over, '1')
  return headers
}

function readEnd(headers: MsgHdrs | undefined): BlockEnd {
  const [attempt = 0, seq = 0] = (headers?.get(HEADERS.last) ?? '').split('.').map(count)
  const from = count(headers?.get(HEADERS.from) ?? '')
  const [bytes, hash = ''] = (headers?.get(HEADERS.part) ?? '').split(' ')
  return {
    attempt,
    seq,
    hash: headers?.get(HEADERS.hash) ?? '',
    ...(bytes ? { part: { bytes: count(bytes), hash } } : {}),
    ...(from > 0 ? { from } : {}),
    ...(headers?.has(HEADERS.over) ? { over: true } : {}),
  }
}

function count(text: string): number {
  const value = Number(text)
  return Number.isSafeInteger(value) && value >= 0 ? value : 0
}

/** The code of an error of JetStream's API, as the server counts them. */
function apiCode(error: unknown): { code?: number; status?: number } {
  return isNamed(error, 'JetStreamApiError') ? (error as { code?: number; status?: number }) : {}
}

const WRONG_LAST_SEQUENCE = [10071, 10164]

function isConflict(error: unknown): boolean {
  return WRONG_LAST_SEQUENCE.includes(apiCode(error).code ?? 0)
}

function isMissing(error: unknown): boolean {
  return isNamed(error, 'StreamNotFoundError')
}

/** True for what no second try mends. No answer, no leader or no room may pass. */
function isFinal(error: unknown): boolean {
  const { status } = apiCode(error)
  if (status !== undefined) return status >= 400 && status < 500 && status !== 408
  return ['PermissionViolationError', 'AuthorizationError', 'InvalidArgumentError'].some((name) =>
    isNamed(error, name),
  )
}

function foreign(stream: string, at: number, why: string): Fault {
  return new Fault(
    'BROKER_FAILED',
    `message ${at} of the stream ${quote(stream)} is no block of a run: ${why}`,
  )
}
