import fc from 'fast-check'
import { cutOptions, hostileBytes } from '../../test/frames/hostile.ts'
import { referenceFrames } from '../../test/frames/reference.ts'
import { scan, shape } from '../../test/frames/splits.ts'
import { same } from './same.ts'

/** The scanner cuts like the slow reference that follows the rules literally. */
export const reference = fc.property(hostileBytes, cutOptions, (bytes, options) => {
  same(
    scan([bytes], options).map(shape),
    referenceFrames(bytes, options).map(shape),
    'the reference cuts otherwise',
  )
})
