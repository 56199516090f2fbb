import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { Fault } from '../base/fault.ts'
import { askCommand } from './ask.ts'
import { chatCommand } from './chat.ts'
import { safe } from './draw.ts'
import { driftCommand } from './drift.ts'
import { enginesCommand } from './engines.ts'
import { eventsCommand } from './events.ts'
import { exits } from './exits.ts'
import { faultExit } from './fault-exit.ts'
import { flushed, output, toleratingStderr } from './print.ts'
import { replayCommand } from './replay.ts'
import { runCommand } from './run.ts'
import { serveCommand } from './serve.ts'
import { sessionsCommand } from './sessions.ts'
import { valuesCommand } from './values.ts'
import { workCommand } from './work.ts'

/** Every command is one file that makes one Command; its action gives the exit code. */
const commands = [
  valuesCommand,
  eventsCommand,
  chatCommand,
  runCommand,
  replayCommand,
  serveCommand,
  workCommand,
  askCommand,
  enginesCommand,
  sessionsCommand,
  driftCommand,
]

/** The command `sluice`: does what the words say and gives the exit code. The first two are Node and the program. */
export async function sluice(words: readonly string[]): Promise<number> {
  let code: number = exits.good
  const program = new Command('sluice')
    .description('Takes the raw output of agents and gives back validated values and events.')
    .version(version(), '-v, --version')
    .showHelpAfterError('(add --help for the options and examples)')
  for (const make of commands) {
    program.addCommand(
      make((given) => {
        code = given
      }),
    )
  }
  // commander leaves with 1 on bad usage; here 1 means a failed run.
  for (const command of [program, ...program.commands]) {
    // It quotes what it was given, and that may come from a file of somebody else's.
    command.exitOverride().configureOutput({
      outputError: (text, write) => write(safe(text)),
      // It does not wait; a failure is told by `flushed`.
      writeOut: (text) => void output()(text).catch(() => {}),
    })
  }
  toleratingStderr()
  try {
    await program.parseAsync(words).catch(unlessShown)
    await flushed()
    return code
  } catch (error) {
    return exitOf(error)
  }
}

/** commander throws after it has printed a help or the version, too. */
function unlessShown(error: unknown): void {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error
}

function exitOf(error: unknown): number {
  if (error instanceof CommanderError) return exits.usage
  // Only misuse and failed writes are thrown: bad data comes out as outcomes.
  if (Fault.is(error)) {
    console.error(`sluice: ${error.message}`)
    return faultExit(error)
  }
  throw error
}

function version(): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(file) as { version: string }).version
}
