import { type Command, InvalidArgumentError } from 'commander'
import { Fault } from '../../base/fault.ts'
import type { EventOptions } from '../../events/event-stage.ts'
import { readSchema } from './input.ts'

/** How the output of a run is read; `events`, `chat`, `run` and `replay` take the same flags. */
export interface ReadingFlags {
  readonly schema?: string
  readonly doneMarker?: string
  readonly maxFrame?: number
  readonly window?: number
}

/** Adds the options for reading the output of a run. */
export function addReading(command: Command): Command {
  return command
    .option('--schema <file>', 'a JSON Schema that the last payload must pass')
    .option(
      '--done-marker <key>',
      'the payload key that means the work is done (default: __SKILL_DONE__)',
      keyName,
    )
    .option('--max-frame <bytes>', 'the longest record to hold in memory, in bytes (default: 16 MiB)', count)
    .option(
      '--window <records>',
      'records of one channel that may wait for their copy on another (default: 65536)',
      count,
    )
}

/** The flags as options of `events()`, with the schema read. */
export async function readingOptions(
  flags: ReadingFlags,
): Promise<Pick<EventOptions, 'schema' | 'doneMarker' | 'maxFrame' | 'window'>> {
  const schema = flags.schema === undefined ? undefined : await readSchema(flags.schema)
  return { schema, doneMarker: flags.doneMarker, maxFrame: flags.maxFrame, window: flags.window }
}

/** With an empty key, any payload with an empty key would count as the end. */
function keyName(text: string): string {
  if (text !== '') return text
  throw new Fault('BAD_OPTION', '--done-marker is empty; name the key, or leave the option out')
}

function count(text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new InvalidArgumentError('It must be a whole number above 0.')
}
