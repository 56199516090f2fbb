import { drive } from '../../src/base/stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import type { Schema } from '../../src/values/schema/schema.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'
import { plain } from '../../test/values/chunked.ts'

/** The options with any schema. */
export type Asked = ValuesOptions<Schema | undefined>

/** The outcomes of the pieces, as plain data. */
export const outcomes = (pieces: readonly Uint8Array[], options: Asked) =>
  drive(
    valueStage(options),
    pieces.map((bytes): Chunk => ({ channel: 'stdout', bytes })),
  ).map(plain)
