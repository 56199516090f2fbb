import { InvalidArgumentError, Option } from 'commander'
import { auto } from '../engines/auto.ts'
import { engines } from '../engines/index.ts'
import type { Picker, Profile } from '../events/profile.ts'

const known: Readonly<Record<string, Profile | Picker>> = { auto, ...engines }

/** `--engine NAME`, as a profile. */
export function engineOption(): Option {
  return new Option('--engine <name>', `whose output it is: ${Object.keys(known).join(', ')}`).argParser(
    engineNamed,
  )
}

function engineNamed(name: string): Profile | Picker {
  const engine = Object.hasOwn(known, name) ? known[name] : undefined
  if (engine) return engine
  throw new InvalidArgumentError(`Known engines: ${Object.keys(known).join(', ')}.`)
}
