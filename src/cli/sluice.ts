import { Fault } from '../base/fault.ts'
import { exits, faultExit } from './exit-codes.ts'
import { flushed, output, toleratingStderr } from './print.ts'
import { version } from './version.ts'

/** Runs the command line and returns the exit code. The first two words are Node and the program. */
export async function sluice(words: readonly string[]): Promise<number> {
  toleratingStderr()
  try {
    const code = await exitCodeOf(words)
    await flushed()
    return code
  } catch (error) {
    // What was printed before it comes first.
    await flushed().catch(() => {})
    // Only misuse and failed writes are thrown: bad data is reported as outcomes.
    if (!Fault.is(error)) throw error
    console.error(`sluice: ${error.message}`)
    return faultExit(error)
  }
}

async function exitCodeOf(words: readonly string[]): Promise<number> {
  // Without commander: loading it takes longer than everything else besides Node itself.
  if (words.length === 3 && (words[2] === '--version' || words[2] === '-v')) {
    await output()(`${version()}\n`)
    return exits.good
  }
  const { runProgram } = await import('./program.ts')
  return runProgram(words)
}
