import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type OptionTable, readOptions } from '../base/check-options.ts'
import { DURATION, type Duration } from '../base/duration.ts'
import { Fault, quote } from '../base/fault.ts'
import { issueKey, type Ledger, type LedgerEntry, parseEntry } from '../work/ledger.ts'
import {
  ANSWER_MS,
  brokerFault,
  connectNats,
  isNamed,
  isStreamName,
  NATS_OPTIONS,
  type NatsClient,
  type NatsOptions,
} from './nats-connection.ts'

/** The options of `natsLedger()`. */
export interface NatsLedgerOptions extends Omit<NatsOptions, 'stream' | 'connectTimeout'> {
  /** How long to wait for a broker that is not there when it is first asked. @default '10s' */
  readonly connectTimeout?: Duration | undefined
  /** The bucket of the key-value store; it is made if it is missing. @default 'sluice-ledger' */
  readonly bucket?: string | undefined
}

const LEDGER_OPTIONS = {
  // A worker that was asked to do something rather waits some seconds for a server that is started again.
  connectTimeout: { ...DURATION, default: 10_000 },
  bucket: {
    default: 'sluice-ledger',
    is: isStreamName,
    needs: 'letters, digits, - and _ as the name of the bucket',
  },
} as const satisfies OptionTable<Omit<NatsLedgerOptions, Exclude<keyof NatsOptions, 'connectTimeout'>>>

/** A ledger with a connection. */
export interface NatsLedger extends Ledger {
  close(): Promise<void>
}

/** Identifies the process that wrote an entry: after a lost answer it tells whether that was us. */
const WRITER = 'Sluice-Writer'
/** Number of versions of an entry to keep. */
const KEPT = 20
const MAX_TURNS = 8
const RETRY_MS = 100

/**
 * The active runs in a bucket of NATS KV, for workers on many hosts: `swap` is the store's own
 * compare-and-set. Each entry is under the hash of its issue. Connects at the first call.
 *
 * If an answer is lost, the kept versions show who wrote which; if other processes have changed the entry
 * more than 20 times since, it is unknown whether ours was written, and that is LEDGER_FAILED.
 *
 * @example
 * const runs = natsLedger({ servers: 'nats://hub:4222' })
 * await activate(runs, 'shop#12', 'run-8')
 */
export function natsLedger(options: NatsLedgerOptions = {}): NatsLedger {
  const example = 'natsLedger({ servers: "nats://127.0.0.1:4222" })'
  const read = readOptions('natsLedger', options, example, { ...NATS_OPTIONS, ...LEDGER_OPTIONS })
  const { bucket } = read
  const stream = `KV_${bucket}`
  let opening: Promise<NatsClient> | undefined
  const open = () => {
    opening ??= connectNats(read)
      .then(async (client) => {
        await openBucket(client, bucket, read.replicas)
        return client
      })
      .catch((error) => {
        opening = undefined
        throw error
      })
    return opening
  }

  /** The last version of an entry, or the first one after a revision; as the leader of the store knows it. */
  async function find({ manager, answer }: NatsClient, issueRef: string, after?: number) {
    const key = `$KV.${bucket}.${issueKey(issueRef)}`
    const query = after === undefined ? { last_by_subj: key } : { seq: after + 1, next_by_subj: key }
    const ask = () => answer(() => manager.streams.getMessage(stream, query))
    const message = await patiently(ask).catch(natsFailed)
    const [revision, writer] = [message?.seq ?? 0, message?.header.get(WRITER) ?? '']
    // It was deleted with another tool: there is no entry, and the next one comes after that.
    if (!message || message.header.has('KV-Operation')) return { revision, writer, entry: undefined }
    try {
      const { version } = message.json<LedgerEntry>()
      return { revision, writer, entry: parseEntry(message.string(), issueRef, version) }
    } catch (error) {
      // Cast: JSON and `parseEntry` throw only Errors.
      throw new Fault(
        'LEDGER_FAILED',
        `the bucket ${quote(bucket)} has a value that is not an entry under ${issueKey(issueRef)} (${quote((error as Error).message, 100)})`,
        { cause: error },
      )
    }
  }

  return {
    async read(issueRef) {
      const client = await open().catch(natsFailed)
      return (await find(client, issueRef)).entry
    },
    async swap(issueRef, version, next) {
      const client = await open().catch(natsFailed)
      const entry: LedgerEntry = { issue_ref: issueRef, ...next, version: version + 1 }
      const mine = randomUUID()
      const before = await find(client, issueRef)
      if ((before.entry?.version ?? 0) !== version) return undefined
      for (let turn = 1; ; turn++) {
        try {
          const headers = client.transport.headers()
          headers.set(WRITER, mine)
          const expect = { streamName: stream, lastSubjectSequence: before.revision }
          await client.answer(() =>
            client.js.publish(`$KV.${bucket}.${issueKey(issueRef)}`, JSON.stringify(entry), {
              headers,
              expect,
              timeout: ANSWER_MS,
            }),
          )
          return entry
        } catch (error) {
          // The answer may have been lost: the version after the one we read shows who wrote it.
          const next = await find(client, issueRef, before.revision)
          if (next.writer === mine) return entry
          if (next.revision > 0 && (next.entry?.version ?? entry.version) <= entry.version) return undefined
          if (next.revision > 0 || turn === MAX_TURNS) natsFailed(error)
        }
        await delay(RETRY_MS * turn)
      }
    },
    async close() {
      await (await opening?.catch(() => undefined))?.close()
      opening = undefined
    },
  }
}

/** Retries while a server is unreachable or has no leader. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let turn = 1; ; turn++) {
    try {
      return await ask()
    } catch (error) {
      if (Fault.is(error) || isNamed(error, 'PermissionViolationError') || turn === MAX_TURNS) throw error
    }
    await delay(RETRY_MS * turn)
  }
}

/** Creates the bucket like the NATS tools do, so that they can show it. */
async function openBucket(
  { manager, jetstream, shown, close }: NatsClient,
  bucket: string,
  replicas: number,
): Promise<void> {
  const name = `KV_${bucket}`
  try {
    await patiently(async () => {
      const there = await manager.streams.info(name).catch((error) => {
        if (!isNamed(error, 'StreamNotFoundError')) throw error
      })
      if (there && there.config.max_age > 0)
        throw new Fault(
          'LEDGER_FAILED',
          `the bucket ${quote(bucket)} forgets its entries after a time (ttl), so a run could be active twice; name another bucket`,
        )
      if (there) return
      await manager.streams.add({
        name,
        subjects: [`$KV.${bucket}.>`],
        num_replicas: replicas,
        max_msgs_per_subject: KEPT,
        discard: jetstream.DiscardPolicy.New,
        deny_delete: true,
        allow_rollup_hdrs: true,
        allow_direct: true,
      })
    })
  } catch (error) {
    await close()
    throw brokerFault(error, shown)
  }
}

function natsFailed(error: unknown): never {
  if (Fault.is(error)) throw error
  throw new Fault('LEDGER_FAILED', 'the ledger of active runs at NATS cannot be read or written', {
    cause: error,
  })
}
