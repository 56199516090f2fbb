import { isCount, type OptionTable, readOptions } from '../base/check-options.ts'
import { type Bytes, digest } from '../base/platform.ts'
import type { Stage } from '../base/stage.ts'
import type { Channel, Chunk, ExitChunk } from '../text/chunk.ts'
import { lines } from '../text/lines.ts'
import type { Schema } from '../values/schema/schema.ts'
import { artifacts, type FsDiff } from './artifacts.ts'
import { completionOf } from './completion-state.ts'
import { cutter } from './cut.ts'
import { dedupe } from './dedupe.ts'
import { checkEngine, type Engine, type EngineFrame, type Picker, type Reader } from './engine.ts'
import { speech } from './engine-events.ts'
import type { Event } from './event.ts'
import { payloadFinder } from './payload.ts'
import type { Position } from './position.ts'
import { outcomeOf } from './run-outcome.ts'
import { tally } from './tally.ts'
import { writer } from './write.ts'

export interface EventOptions {
  /** The run id in every record. @default 'run' */
  readonly runId?: string | undefined
  /** Which attempt of the run this is. @default 1 */
  readonly attempt?: number | undefined
  /** Milliseconds since 1970; a fixed clock makes a replay reproducible. @default Date.now */
  readonly clock?: (() => number) | undefined
  /**
   * Records per channel that may wait for the same record on the other channel; beyond that, the oldest is
   * dropped.
   * @default 65536
   */
  readonly window?: number | undefined
  /** A key in an assistant payload that means the work is done. @default '__SKILL_DONE__' */
  readonly doneMarker?: string | undefined
  /**
   * Bytes of a line or a document that may be held, and characters of all messages that are not yet complete;
   * anything longer is split into pieces.
   * @default 16 MiB
   */
  readonly maxFrame?: number | undefined
  /**
   * The run directory: absolute paths the engine reports become relative to it, others are refused.
   * @default none
   */
  readonly dir?: string | undefined
  /**
   * Schema of the run's answer, its last payload; `lifecycle.run.result` then says whether it matches.
   * @default none
   */
  readonly schema?: Schema | undefined
  /** What the run changed in its directory, or a function that is called at the end. @default none */
  readonly fsDiff?: FsDiff | (() => FsDiff | undefined) | undefined
}

const COUNT = 'be a whole number above 0, but is %'

export const EVENT_OPTIONS = {
  runId: { default: 'run' },
  attempt: { default: 1, is: isCount, must: COUNT },
  clock: { default: () => Date.now() },
  window: { default: 65_536, is: isCount, must: COUNT },
  doneMarker: { default: '__SKILL_DONE__' },
  maxFrame: { default: 16_777_216, is: isCount, must: COUNT },
  dir: {},
  schema: {},
  fsDiff: {},
} as const satisfies OptionTable<EventOptions>

/** Frames that may wait until `auto` has picked an engine. */
const MAX_UNPICKED = 1024
const MAX_UNPICKED_TEXT = 1 << 18

/** What the caller must provide, because this layer has no file system and no crypto. */
export interface StageParts {
  /** At least 128 bits of a cryptographic hash. */
  readonly hash?: ((text: string | Uint8Array) => string) | undefined
  /** False if the path is a link that leads out of the run directory. */
  readonly inside?: ((path: string) => boolean) | undefined
}

const STAGE_PARTS = {
  hash: { default: digest },
  inside: { default: () => true },
} as const satisfies OptionTable<StageParts>

/** The stage of `events()`. */
export function eventStage(
  profile: Engine | Picker,
  options: EventOptions & StageParts = {},
): Stage<Chunk, Event> {
  checkEngine('eventStage', profile)
  const table = { ...EVENT_OPTIONS, ...STAGE_PARTS }
  const read = readOptions('eventStage', options, 'eventStage(codex, { runId })', table)
  const { runId, attempt, clock, window, maxFrame, doneMarker, schema, dir, fsDiff, hash, inside } = read
  // An invalid schema is misuse: it throws here, not when the first byte arrives.
  payloadFinder({ schema, maxFrame })

  return (next) => {
    const write = writer({ runId, attempt, clock }, next)
    const counts = tally(write)
    const payload = payloadFinder({ schema, maxFrame })
    const interpreter = speech({
      writer: write,
      tally: counts,
      doneMarker,
      maxFrame,
      payloads: payload.find,
      artifact: (change, path, diff) => files.claim(change, path, diff),
    })
    const files = artifacts({
      writer: write,
      warn: interpreter.warn,
      dir,
      fsDiff,
      inside,
    })
    let exit: ExitChunk | undefined
    let engine: Engine | undefined
    let reader: Reader | undefined
    /** Frames that arrived before `auto` picked an engine. */
    let unpicked: { frame: EngineFrame; how: Passed; position: Position }[] = []
    let unpickedSize = 0
    /** The engine that `auto` would pick if nothing more certain arrives. */
    let guessed: Engine | undefined

    const choose = (picked: Engine) => {
      engine = picked
      reader = picked.open({ maxFrame })
      write.voice(picked)
      if ('pick' in profile) {
        write.about(undefined)
        interpreter.warn('ENGINE_PICKED', `${profile.name} picked ${picked.name}`, 'info')
      }
      const held = unpicked
      unpicked = []
      for (const { frame, how, position } of held) pass(frame, how, position)
    }

    const pass = (frame: EngineFrame, how: Passed, position: Position) => {
      if (!engine && 'pick' in profile) {
        unpicked.push({ frame, how, position })
        unpickedSize += frame.text.length
        const picked = profile.pick(frame)
        const full = unpicked.length >= MAX_UNPICKED || unpickedSize >= MAX_UNPICKED_TEXT
        guessed ??= picked ?? profile.guess?.(frame)
        if (picked || full) choose(picked ?? guessed ?? profile.fallback)
        return
      }
      const shape = engine!.cut[frame.channel]
      if (how !== 'first') {
        write.about(frame)
        if (frame.value === undefined) counts.noise('pty only', 'PTY_STREAM_MISMATCH', 0.7)
        else interpreter.warn('PTY_STREAM_MISMATCH', 'the PTY has a record that stdout lacks')
        if (how === 'late') counts.noise('late', 'LATE_DUPLICATE_POSSIBLE', 0.3)
      }
      const reported = shape !== undefined && (how === 'first' || frame.value !== undefined)
      const understood = reported && interpreter.frame(reader!.read, frame, position)
      if (!reported) interpreter.unread(frame)
      for (const note of frame.notes ?? []) counts.noise(note.code, note.code, 0.7, note.message)
      if (frame.open && reported && shape !== 'text' && understood !== 'kept') {
        if (!engine!.growing) interpreter.sawTruncation()
        interpreter.warn('TRUNCATED', 'the input ended inside a record')
      }
    }

    const once = dedupe({ hash, window, maxHeld: maxFrame, pass })
    const channels = new Map<Channel, { write(bytes: Uint8Array): void; end(): void }>()

    const open = (channel: Channel) => {
      const cut = cutter({ channel, cut: () => (engine ?? profile).cut, maxFrame }, once.admit)
      const seen = (bytes: Bytes) => !cut.holding() && once.hasTwin(bytes)
      const split = lines(channel, maxFrame, cut.line, channel === 'pty' ? seen : undefined)
      const made = {
        write: split.write,
        end() {
          split.end()
          cut.end()
        },
      }
      channels.set(channel, made)
      return made
    }

    if (!('pick' in profile)) choose(profile)
    else write.voice(profile)

    return {
      write(chunk) {
        if (chunk.channel === 'exit') {
          exit = chunk
          return
        }
        if (chunk.channels) once.announce(chunk.channels)
        if (chunk.bytes.length === 0) return
        once.saw(chunk.channel)
        const channel = channels.get(chunk.channel) ?? open(chunk.channel)
        channel.write(chunk.bytes)
      },
      end() {
        for (const name of ['stdout', 'stderr', 'pty'] as const) channels.get(name)?.end()
        once.end()
        if (!engine && 'pick' in profile) choose(guessed ?? profile.fallback)
        interpreter.last(reader!.end)
        interpreter.end()
        counts.end()
        for (const note of exit?.notes ?? []) interpreter.warn(note.code, note.message)
        files.end()
        if (exit?.held)
          interpreter.warn(
            'PIPE_HELD_OPEN',
            `the process ended, but another process still holds ${exit.held.join(', ')}`,
          )
        const { data, conflict } = completionOf({
          ...interpreter.evidence(),
          exit_code: exit?.code ?? null,
          signal: exit?.signal ?? null,
          ...(typeof exit?.stopped === 'string' ? { stopped: exit.stopped } : {}),
        })
        // A failed process has no valid result, whatever the engine said before.
        const outcome = outcomeOf(data)
        const whole = outcome !== 'failed' && outcome !== 'cancelled' && conflict === undefined
        const result = payload.result(whole)
        if (result) write.write('lifecycle.run.result', result, 0.95)
        if (conflict) interpreter.warn('COMPLETION_CONFLICT', conflict)
        const tokens = interpreter.tokens()
        write.write('lifecycle.completion.state', tokens ? { ...data, tokens } : data, 0.95)
        next.end()
      },
    }
  }
}

type Passed = 'first' | 'pty-only' | 'late'
