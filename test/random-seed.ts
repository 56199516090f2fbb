// Properties of fast-check take their inputs from the seed of all random tests.
import fc from 'fast-check'
import { seed } from './pace.ts'

fc.configureGlobal({ seed })
