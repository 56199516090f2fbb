import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { StreamInfo } from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import { Fault, quote } from '../base/fault.ts'
import { type BlockEnd, type Broker, blockMark, Rewound, type RunName, type StoredBlock } from './broker.ts'
import {
  brokerFault,
  connectNats,
  isNamed,
  MAX_ANSWER_MS,
  NATS_OPTIONS,
  type NatsClient,
  type NatsOptions,
} from './nats-connection.ts'

/** Larger blocks are not faster, and JetStream stores a stream in blocks of a few MB. */
const MAX_BLOCK = 256 * 1024
/** Room for subject and headers within the limit of a message. */
const HEADER_ROOM = 4096
/** With less an event would take hundreds of messages. */
const MIN_BLOCK = 4096
/** Blocks that are on their way to a reader: 8 MiB at most. */
const AHEAD = 32
/** A reader whose consumer is silent for two of these creates a new one. */
const HEARTBEAT_MS = 1500
const RETRY_MS = 200
/** How long a host may take to answer an order; then it is asked again. */
const HEARD_MS = 2000
const NOTHING = new Uint8Array(0)
/** A consumer made only to ask what is pending. It expires by itself if it cannot be removed. */
const COUNTER = {
  ack_policy: 'none',
  deliver_policy: 'by_start_sequence',
  mem_storage: true,
  num_replicas: 1,
  inactive_threshold: 5e9,
} as const

/** Runs in a JetStream stream. A block is one message; its position is its sequence number in the stream. */
export async function natsBroker(options: NatsOptions): Promise<Broker> {
  const client = await connectNats(options)
  const { stream = NATS_OPTIONS.stream.default } = options
  let config: StreamConfig | undefined
  let maxBlock: number
  try {
    config = await openStream(client, stream, options.replicas ?? NATS_OPTIONS.replicas.default)
    maxBlock = roomIn(client, config)
  } catch (error) {
    await client.close()
    throw brokerFault(error, client.shown)
  }
  const { js, manager, transport } = client
  const subject = ({ tenant, run }: RunName) => `${stream}.${tenant}.${run}`
  const orders = ({ tenant, run }: RunName) => `${stream}-control.${tenant}.${run}`
  /** Sends a request; an error that a retry cannot fix becomes a Fault. */
  const asked = <T>(ask: () => Promise<T>): Promise<T> =>
    ask().catch((error) => {
      throw isFinal(error) ? brokerFault(error, client.shown) : error
    })

  return {
    maxBlock,
    async append(name, end, bytes, after) {
      const headers = writeEnd(transport.headers(), end)
      const expect = { streamName: stream, lastSubjectSequence: after }
      const publish = () => js.publish(subject(name), bytes, { headers, timeout: MAX_ANSWER_MS, expect })
      const sent = client.answer(publish).catch((error) => {
        if (!WRONG_LAST_SEQUENCE.includes(apiCode(error).code ?? 0)) throw error
      })
      return (await asked(() => sent))?.seq
    },
    async last(name) {
      const query = { last_by_subj: subject(name) }
      const direct = () => client.answer(() => manager.direct.getMessage(stream, query))
      const fromLeader = () => client.answer(() => manager.streams.getMessage(stream, query))
      // A stream that was made by others may not allow the direct way, and then there is no answer. Where
      // it is allowed, the other may be forbidden: a missing leader must not look like missing rights.
      const either = () => direct().catch((error) => (isFinal(error) ? Promise.reject(error) : fromLeader()))
      const message = await asked(config === undefined ? either : config.allow_direct ? direct : fromLeader)
      return message ? { at: message.seq, end: readEnd(message.header) } : undefined
    },
    async state() {
      const { created, state } = await asked(() => client.answer(() => manager.streams.info(stream)))
      return { id: created, last: state.last_seq }
    },
    async pending(after, { tenant = '*', run = '*' }) {
      const { state, cluster } = await asked(() => client.answer(() => manager.streams.info(stream)))
      if (state.last_seq <= after) return 0
      // What follows may be of other tenants, or gone: only a consumer counts what it would deliver.
      const counter = { name: randomUUID(), filter_subject: subject({ tenant, run }), ...COUNTER }
      const from = { opt_start_seq: after + 1 }
      const add = () => manager.consumers.add(stream, { ...counter, ...from })
      const counted = await asked(() => client.answer(add))
      void manager.consumers.delete(stream, counter.name).catch(() => {})
      // It counts what its server has, and that may have less than the leader.
      const host = cluster?.replicas?.find(({ name }) => name === counted.cluster?.leader)
      if (host && !(host.current && !host.lag)) throw new Error(`the server ${host.name} is behind`)
      return counted.num_pending
    },
    read: (from, { tenant = '*', run = '*' }, signal) =>
      blocks(client, { stream, filter: subject({ tenant, run }) }, from, signal),
    async order(name, order) {
      const ask = () => client.connection.request(orders(name), order, { timeout: HEARD_MS })
      try {
        return (await asked(() => client.answer(ask))).data
      } catch (error) {
        if (isNamed(error, 'NoResponders')) return undefined
        throw error
      }
    },
    takeOrders(tenant, take, fail, signal) {
      const subscription = client.connection.subscribe(orders({ tenant, run: '*' }), {
        callback(error, message) {
          if (error) return fail(brokerFault(error, client.shown))
          const { subject, reply, headers, data } = message
          if (!reply || reply.startsWith('$') || isCopy(headers)) return
          const answer = take(subject.split('.')[2] ?? '', data)
          if (answer) message.respond(answer)
        },
      })
      signal.addEventListener('abort', () => subscription.unsubscribe(), { once: true })
    },
    reachable: (signal) => client.connected(signal),
    close: client.close,
  }
}

/** Blocks from a position on, of one consumer after the other; each loss of the connection ends one. */
async function* blocks(
  client: NatsClient,
  source: { readonly stream: string; readonly filter: string },
  from: number,
  signal: AbortSignal,
): AsyncGenerator<StoredBlock, void> {
  let next = from
  /** The last block that was read: after a loss of storage another one can be in its place. */
  let seen: StoredBlock | undefined
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      await client.connected(signal)
      if (failures > 0) await delay(RETRY_MS, undefined, { signal })
      const again = seen
      const start = again ? next - 1 : next
      const wanted = { ...source, from: start, known: next - 1 }
      for await (const block of consumed(client, wanted, signal)) {
        if (again && block.at === again.at) {
          if (blockMark(block) === blockMark(again)) continue
          throw new Rewound(`block ${block.at} is another one`)
        }
        next = block.at + 1
        seen = { ...block, bytes: NOTHING }
        failures = 0
        yield block
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof Rewound || Fault.is(error)) throw error
      if (isFinal(error)) throw brokerFault(error, client.shown)
    }
  }
}

/** Blocks of one consumer, until something fails. The stream must reach to the place that is `known`. */
async function* consumed(
  { js, manager, connection, answer }: NatsClient,
  { stream, filter, from, known }: { stream: string; filter: string; from: number; known: number },
  signal: AbortSignal,
): AsyncGenerator<StoredBlock, void> {
  const { state } = await answer(() => manager.streams.info(stream))
  if (state.last_seq < known) throw new Rewound(`the stream ends at ${state.last_seq}, before ${known}`)
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
      if (run === '' || more.length > 0)
        throw new Fault(
          'BROKER_FAILED',
          `message ${message.seq} of the stream ${quote(stream)} is not a block of a run: its subject has other parts`,
        )
      const { seq: at, headers, data: bytes } = message
      yield { at, name: { tenant, run }, end: readEnd(headers), bytes, copied: isCopy(headers) }
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

type StreamConfig = StreamInfo['config']

/** Bytes that fit into a block, by the limits of the server and of the stream. */
function roomIn({ connection, shown }: NatsClient, config: StreamConfig | undefined): number {
  const ofServer = connection.info?.max_payload ?? 1 << 20
  const ofStream = config && config.max_msg_size > 0 ? config.max_msg_size : ofServer
  const room = Math.min(ofServer, ofStream) - HEADER_ROOM
  if (room >= MIN_BLOCK) return Math.min(MAX_BLOCK, room)
  const limit = ofStream < ofServer ? 'max_msg_size of the stream' : 'max_payload of the server'
  throw new Fault(
    'BROKER_FAILED',
    `${shown} takes messages of up to ${room + HEADER_ROOM} bytes, too few for events; raise ${limit} to ${HEADER_ROOM + MIN_BLOCK} or more`,
  )
}

/** Makes the stream if it is missing, and gives its settings, unless this user may not see them. */
async function openStream(
  { manager, shown, answer }: NatsClient,
  stream: string,
  replicas: number,
): Promise<StreamConfig | undefined> {
  for (let turn = 1; ; turn++) {
    try {
      const { config } = await answer(() => manager.streams.info(stream))
      checkStream(config, stream)
      return config
    } catch (error) {
      if (isNamed(error, 'PermissionViolationError')) return undefined
      if (!isNamed(error, 'StreamNotFoundError')) {
        if (Fault.is(error) || isFinal(error) || turn >= MAX_TURNS) throw error
        await delay(RETRY_MS * turn)
        continue
      }
    }
    try {
      const subjects = [`${stream}.>`]
      const settings = { name: stream, subjects, num_replicas: replicas, allow_direct: true }
      await answer(() => manager.streams.add(settings))
    } catch (error) {
      const hopeless =
        isNamed(error, 'PermissionViolationError') || NEVER_MADE.includes(apiCode(error).code ?? 0)
      if (hopeless || turn >= MAX_TURNS)
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
/** Replicas without a cluster; a stream of another name that has these subjects. */
const NEVER_MADE = [10074, 10065]

/** Throws if the stream was made for something else, or with settings by which it would lose events. */
function checkStream(config: StreamConfig, stream: string): void {
  const { subjects, retention, max_msgs_per_subject: kept, no_ack } = config
  if (!subjects?.some((subject) => subject === `${stream}.>` || subject === `${stream}.*.*`)) {
    const others = `has other subjects (${quote(String(subjects), 100)}) than ${stream}.>`
    throw wrongStream(stream, others, 'name another stream')
  }
  const addAnew = 'remove it and let ship make it, or name another stream'
  if (retention !== 'limits')
    throw wrongStream(stream, `removes what was read (retention ${quote(String(retention))})`, addAnew)
  if (no_ack) throw wrongStream(stream, 'acknowledges nothing (no_ack)', addAnew)
  const keepAll = `nats stream edit ${stream} --max-msgs-per-subject=-1`
  if (kept > 0) throw wrongStream(stream, `keeps only ${kept} messages of a run`, keepAll)
}

function wrongStream(stream: string, why: string, next: string): Fault {
  return new Fault('BROKER_FAILED', `the stream ${quote(stream)} ${why}; ${next}`)
}

const HEADERS = {
  last: 'Sluice-Last',
  hash: 'Sluice-Hash',
  part: 'Sluice-Part',
  from: 'Sluice-From',
  over: 'Sluice-Over',
  control: 'Sluice-Control',
} as const

function writeEnd(headers: MsgHdrs, { attempt, seq, hash, part, from, over, control }: BlockEnd): MsgHdrs {
  headers.set(HEADERS.last, `${attempt}.${seq}`)
  headers.set(HEADERS.hash, hash)
  if (part) headers.set(HEADERS.part, `${part.bytes} ${part.hash}`)
  if (from) headers.set(HEADERS.from, String(from))
  if (over) headers.set(HEADERS.over, '1')
  if (control) headers.set(HEADERS.control, '1')
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
    part: bytes ? { bytes: count(bytes), hash } : undefined,
    from: from || undefined,
    over: headers?.has(HEADERS.over) || undefined,
    control: headers?.has(HEADERS.control) || undefined,
  }
}

function count(text: string): number {
  const value = Number(text)
  return Number.isSafeInteger(value) && value >= 0 ? value : 0
}

/**
 * Whether JetStream has sent what is stored elsewhere: it answers questions to any subject that the asker
 * names, also where that one may not publish. Such an answer asks for no answer itself.
 */
function isCopy(headers: MsgHdrs | undefined): boolean {
  return headers?.has('Nats-Stream') === true
}

function apiCode(error: unknown): { code?: number; status?: number } {
  // Cast: the fields of an error of that name.
  return isNamed(error, 'JetStreamApiError') ? (error as { code?: number; status?: number }) : {}
}

/** Another process has written to this run meanwhile. */
const WRONG_LAST_SEQUENCE = [10071, 10164]

/** True for errors that a retry cannot fix. No answer, no leader or no room may be temporary. */
function isFinal(error: unknown): boolean {
  const { status } = apiCode(error)
  if (status !== undefined) return status >= 400 && status < 500 && status !== 408
  return ['PermissionViolationError', 'AuthorizationError', 'InvalidArgumentError'].some((name) =>
    isNamed(error, name),
  )
}
