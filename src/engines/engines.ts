import type { Profile } from '../events/profile.ts'
import * as index from './index.ts'

/**
 * Every engine by its name; what `index.ts` exports is here.
 *
 * @example
 * events(engines[name])
 */
export const engines = { ...index } satisfies Record<string, Profile>
