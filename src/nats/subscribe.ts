import { Readable } from 'node:stream'
import { isName, misfit, type OptionTable, readOptions } from '../base/check-options.ts'
import type { Stage } from '../base/stage.ts'
import type { AgentEvent } from '../events/event.ts'
import { type Flow, flow } from '../streams/flow.ts'
import {
  type Assembler,
  assembler,
  type Broker,
  Rewound,
  type StoredBlock,
  tokenOf,
  untilAnswered,
} from './broker.ts'
import { natsBroker } from './nats-broker.ts'
import { NATS_OPTIONS, type NatsOptions } from './nats-connection.ts'

/** The options of `subscribe()`. */
export interface SubscribeOptions extends NatsOptions {
  /** Only the runs of this tenant. @default all */
  readonly tenant?: string | undefined
  /** Only this run, by its id; the flow ends when the run has ended. @default all, without an end */
  readonly run?: string | undefined
  /** With `run`: only events after this one. @default from its first event on */
  readonly after?: { readonly attempt: number; readonly seq: number } | undefined
}

const SUBSCRIBE_OPTIONS = {
  tenant: { is: isName, needs: 'names of a tenant and a run' },
  run: { is: isName, needs: 'names of a tenant and a run' },
  after: {},
} as const satisfies OptionTable<Omit<SubscribeOptions, keyof NatsOptions>>

/**
 * The events that were shipped to NATS JetStream, from the first one on and then as they arrive: those of
 * each run once and in order. Those of several runs are mixed as they arrived; `run_id` distinguishes them.
 * Waits while the broker is unreachable. If events of a run are missing, for example because the stream's
 * limits dropped them, the flow fails with BROKER_GAP.
 *
 * @example
 * for await (const event of subscribe({ servers: 'nats://hub:4222', run: 'run-7' })) console.log(event.type)
 */
export function subscribe(options: SubscribeOptions = {}): Flow<AgentEvent> {
  const example = 'subscribe({ servers: "nats://127.0.0.1:4222", run: "run-7" })'
  const read = readOptions('subscribe', options, example, { ...NATS_OPTIONS, ...SUBSCRIBE_OPTIONS })
  const { run, after } = read
  if (
    after !== undefined &&
    (run === undefined || !Number.isInteger(after?.attempt) || !Number.isInteger(after?.seq))
  )
    throw misfit(
      'subscribe',
      'an attempt and a seq of one run as after',
      after,
      '{ run, after: { attempt: 1, seq: 57 } }',
    )
  const stop = new AbortController()
  const source = Readable.from(
    blocks(() => natsBroker({ ...read, signal: stop.signal }), read, stop.signal),
    {
      // Each block can have 256 KiB.
      highWaterMark: 2,
    },
  )
  const made = source.pipe(flow(eventsOf(after), { signal: options.signal }))
  made.once('close', () => stop.abort())
  return made
}

/** The blocks of one run up to its end, or those of all runs. */
async function* blocks(
  open: () => Promise<Broker>,
  { tenant, run, after }: Pick<SubscribeOptions, 'tenant' | 'run' | 'after'>,
  signal: AbortSignal,
): AsyncGenerator<StoredBlock, void> {
  const filter = {
    tenant: tenant === undefined ? undefined : tokenOf(tenant),
    run: run === undefined ? undefined : tokenOf(run),
  }
  let broker: Broker | undefined
  try {
    broker = await open()
    for (;;) {
      try {
        for await (const block of broker.read(1, filter, signal)) {
          if (block.copied) continue
          yield block
          const { attempt, seq, over } = block.end
          // An end before what the reader has is not the one it waits for.
          const passed = after && (attempt - after.attempt || seq - after.seq) < 0
          if (run === undefined || !over || passed) continue
          // It may have continued with another attempt.
          const last = await untilAnswered(broker, signal, () => broker!.last(block.name))
          if (last?.at === block.at) return
        }
        return
      } catch (error) {
        // The next stage drops what the reader has.
        if (!(error instanceof Rewound)) throw error
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await broker?.close()
  }
}

function eventsOf(after: SubscribeOptions['after']): Stage<StoredBlock, AgentEvent> {
  return (next) => {
    const runs = new Map<string, Assembler>()
    return {
      write(block) {
        const key = `${block.name.tenant}.${block.name.run}`
        let run = runs.get(key)
        if (!run) {
          run = assembler(after && { attempt_number: after.attempt, seq: after.seq })
          runs.set(key, run)
        }
        for (const { event } of run.feed(block)) next.write(event)
      },
      end: () => next.end(),
    }
  }
}
