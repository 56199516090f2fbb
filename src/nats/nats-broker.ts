import { setTimeout as delay } from 'node:timers/promises'
import type { StreamInfo } from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import { Fault, quote } from '../base/fault.ts'
import { type BlockEnd, type Broker, Rewound, type RunName, type StoredBlock } from './broker.ts'
import { ANSWER_MS, brokerFault, connectNats, isNamed, type NatsClient } from './nats-client.ts'
import { DEFAULT_STREAM, type NatsOptions } from './nats-options.ts'

/** Larger blocks are not faster, and JetStream stores a stream in blocks of a few MB. */
const MAX_BLOCK = 256 * 1024
/** Room for subject and headers within the limit of a message. */
const HEADER_ROOM = 4096
/** Blocks in flight to a reader: 8 MiB at most. */
const AHEAD = 32
/** A reader whose consumer is silent for two of these creates a new one. */
const HEARTBEAT_MS = 1500
const RETRY_MS = 200

/** Runs in a JetStream stream. A block is one message; its position is its sequence number in the stream. */
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
          // A stream that was created by another program may not allow it.
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
  // A string: a list needs server 2.10.
  const start = { filter_subjects: filter, opt_start_seq: Math.max(1, from) }
  const consumer = await answer(() => js.consumers.get(stream, start))
  const messages = await consumer.consume({
    max_messages: AHEAD,
    expires: 4 * HEARTBEAT_MS,
    idle_heartbeat: HEARTBEAT_MS,
  })
  const stop = () => void messages.close()
  signal.addEventListener('abort', stop, { once: true })
  // The consumer would recover by itself, but only after its expiry time; a new one takes some milliseconds.
  void (async () => {
    for await (const { type } of messages.status()) if (broken.has(type)) stop()
  })().catch(() => {})
  const status = connection.status()
  void (async () => {
    for await (const { type } of status) if (type === 'disconnect' || type === 'reconnect') stop()
  })().catch(() => {})
  try {
    for await (const message of messages) {
      // Messages that have already arrived are still delivered after it is stopped.
      if (signal.aborted) return
      const [, tenant = '', run = '', ...more] = message.subject.split('.')
      if (run === '' || more.length > 0) throw foreign(stream, message.seq, 'its subject has other parts')
      yield { at: message.seq, name: { tenant, run }, end: readEnd(message.headers), bytes: message.data }
    }
  } finally {
    signal.removeEventListener('abort', stop)
    // Cast: the iterator has `stop`, but its type does not.
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

/** Creates the stream if it is missing. A user without permission to query it continues: every block names its stream. */
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
      // Cast: the client throws only Errors.
      if (isNamed(error, 'PermissionViolationError') || turn >= MAX_TURNS)
        throw new Fault(
          'BROKER_FAILED',
          `${shown} has no stream ${quote(stream)}, and it could not be created (${quote((error as Error).message, 120)}): nats stream add ${stream} --subjects "${stream}.>" --allow-direct`,
          { cause: error },
        )
      // Another process may have created it, or the cluster has no leader yet.
      await delay(RETRY_MS * turn)
    }
  }
}

const MAX_TURNS = 12

function checkStream({ subjects }: StreamInfo['config'], stream: string): void {
  if (subjects?.some((subject) => subject === `${stream}.>` || subject === `${stream}.*.*`)) return
  throw new Fault(
    'BROKER_FAILED',
    `the stream ${quote(stream)} has other subjects (${quote(String(subjects), 100)}) than ${stream}.>; use another stream`,
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

/** The code of a JetStream API error. */
function apiCode(error: unknown): { code?: number; status?: number } {
  // Cast: the fields of an error of that name.
  return isNamed(error, 'JetStreamApiError') ? (error as { code?: number; status?: number }) : {}
}

const WRONG_LAST_SEQUENCE = [10071, 10164]

function isConflict(error: unknown): boolean {
  return WRONG_LAST_SEQUENCE.includes(apiCode(error).code ?? 0)
}

function isMissing(error: unknown): boolean {
  return isNamed(error, 'StreamNotFoundError')
}

/** True for errors that a retry cannot fix. No answer, no leader or no room may be temporary. */
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
    `message ${at} of the stream ${quote(stream)} is not a block of a run: ${why}`,
  )
}
