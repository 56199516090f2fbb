import fc from 'fast-check'
import { tryParse } from '../../src/values/parse.ts'
import { jsonSchema } from '../../src/values/schema/json-schema.ts'
import type { ValuesOptions } from '../../src/values/values.ts'
import { chunkSizes, cutOptions, hostileBytes } from '../../test/frames/hostile.ts'
import { byteByByte, inSizes, scan, shape, tilingFault } from '../../test/frames/splits.ts'
import { plain } from '../../test/values/chunked.ts'
import { type Asked, outcomes } from './outcomes.ts'
import { same } from './same.ts'

/** The whole and its pieces have the same frames, and the frames cover the input. */
export const splitFrames = fc.property(hostileBytes, cutOptions, chunkSizes, (bytes, options, sizes) => {
  const whole = scan([bytes], options).map(shape)
  same(scan(inSizes(bytes, sizes), options).map(shape), whole, 'other frames in pieces')
  same(scan(byteByByte(bytes), options).map(shape), whole, 'other frames byte by byte')
  const fault = tilingFault(scan(inSizes(bytes, sizes), { ...options, text: true }), bytes.length)
  if (fault) throw new Error(fault)
})

const valuesOptions: fc.Arbitrary<Asked> = fc
  .record({
    look: fc.constantFrom<ValuesOptions>({}, { tag: 'json' }, { lines: true }),
    pick: fc.constantFrom('each', 'first', 'last'),
    root: fc.constantFrom('object', 'any'),
    partial: fc.boolean(),
    // Compiled once: that takes longer than a thousand cases.
    schema: fc.constantFrom(undefined, jsonSchema({}), jsonSchema({ type: 'object', required: ['a'] })),
    maxFrame: fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 64 })),
    maxRepair: fc.constantFrom(undefined, 8),
    maxDepth: fc.constantFrom(undefined, 2),
    maxComment: fc.constantFrom(undefined, 0, 5),
  })
  .map(({ look, ...rest }) => ({ ...rest, ...look }))

/** The whole and its pieces have the same outcomes, and `tryParse` agrees with the stream. */
export const splitValues = fc.property(hostileBytes, valuesOptions, chunkSizes, (bytes, options, sizes) => {
  const whole = outcomes([bytes], options)
  same(outcomes(inSizes(bytes, sizes), options), whole, 'other outcomes in pieces')
  same(outcomes(byteByByte(bytes), options), whole, 'other outcomes byte by byte')
  if (options.pick !== 'first' || options.lines || bytes.includes(0xff)) return
  const { pick: _, ...rest } = options
  const text = bytes.toString()
  if (Buffer.from(text).equals(bytes)) same(plain(tryParse(text, rest)), whole[0], 'tryParse says otherwise')
})
