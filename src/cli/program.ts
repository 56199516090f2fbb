import { setFlagsFromString } from 'node:v8'
import { Command, CommanderError } from 'commander'
import { Fault, orElse } from '../base/fault.ts'
import { type CommandTable, commandOf, describeOption, withHelpAll } from './command-table.ts'
import { exits } from './exit-codes.ts'
import { output } from './print.ts'
import { missingValue, usageFault } from './usage-fault.ts'
import { version } from './version.ts'

/**
 * Every command with its line of `sluice --help`, one file each. A file is loaded only for its command: the
 * engines, the server and the parsers take longer to load than `sluice --version` takes in total.
 */
const commands: Readonly<Record<string, [summary: string, load: () => Promise<{ default: CommandTable }>]>> =
  {
    values: ['find, repair and validate the payloads in agent output', () => import('./commands/values.ts')],
    events: ['the output of an agent as events', () => import('./commands/events.ts')],
    chat: ['the output of an agent as a conversation', () => import('./commands/chat.ts')],
    run: ['run an agent, record it and show the conversation', () => import('./commands/run.ts')],
    reply: ['continue a recorded run in the session of its agent', () => import('./commands/reply.ts')],
    answer: ['answer what a run asks that was started with --control', () => import('./commands/answer.ts')],
    interrupt: ['interrupt the turn of a run', () => import('./commands/interrupt.ts')],
    stop: ['end a run', () => import('./commands/stop.ts')],
    replay: ['read a recorded run again', () => import('./commands/replay.ts')],
    export: [
      'write a run as one file to share: Markdown, a page or JSON',
      () => import('./commands/export.ts'),
    ],
    serve: ['show recorded and live runs as a web page', () => import('./commands/serve.ts')],
    ship: ['send runs to NATS JetStream', () => import('./commands/ship.ts')],
    mirror: ['store the runs that were sent to NATS as directories', () => import('./commands/mirror.ts')],
    work: ['run a worker on an order and post its result once', () => import('./commands/work.ts')],
    ask: ['ask any command that reads a prompt until its answer parses', () => import('./commands/ask.ts')],
    ls: ['list the recorded runs', () => import('./commands/ls.ts')],
    engines: ['list the supported agents', () => import('./commands/engines.ts')],
    sessions: ['list the session files of agents', () => import('./commands/sessions.ts')],
    diff: ['print what a run changed as one diff, or compare two runs', () => import('./commands/diff.ts')],
    why: ['explain in at most ten lines what went wrong in a run', () => import('./commands/why.ts')],
    prune: ['remove recorded runs that ended long ago', () => import('./commands/prune.ts')],
    drift: ['list what the engines do not know in recorded runs', () => import('./commands/drift.ts')],
    completion: [
      'print a script that lets your shell complete this command line',
      () => import('./commands/completion.ts'),
    ],
  }

const examples = `
Examples:
  $ codex exec --json "fix the test" | npx agent-sluice chat
  $ npx agent-sluice values run.log --tag json --schema report.schema.json
  $ npx agent-sluice help run`

/** Runs the command line and returns the exit code. The first two words are Node and the program. */
export async function runProgram(typed: readonly string[]): Promise<number> {
  let code: number = exits.good
  const words = withHelpAll(typed)
  const program = await programFor(words.slice(2), (given) => {
    code = given
  })
  // V8 lets its heap grow to four times what is alive, and beyond on a busy machine: drawing a run of five
  // million events took 285 MB, of which 18 were alive. Twice as much takes no time that could be measured.
  // Only now: under another flag, V8 compiles again what Node has compiled already, for 12 ms.
  orElse(() => setFlagsFromString('--heap-growing-percent=100'), undefined)
  try {
    // From the script of `sluice completion`: an incomplete command line, which is not for commander.
    if (words[2] === 'complete' && words[3] === '--') await complete(program, words.slice(4))
    else {
      checkValueBeforeDashes(program, words)
      await program.parseAsync(withColorAlone(program, withoutUnknownHelp(words)))
    }
  } catch (error) {
    if (Fault.is(error)) error.message = inFlags(error.message, program, words[2])
    // commander also throws after printing a help or the version.
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return code
    // Nothing was typed: the list of commands was printed instead.
    if (error.code === 'commander.help') return exits.usage
    throw usageFault(error, program.commands.find((each) => each.name() === words[2]) ?? program)
  }
  return code
}

/**
 * `run --prompt -- claude` lacks the prompt; commander would take the `--` for it. What follows the name of
 * an agent is the agent's.
 */
function checkValueBeforeDashes(program: Command, [, , name, ...words]: readonly string[]): void {
  const command = program.commands.find((each) => each.name() === name)
  for (let at = 0; words[at]?.startsWith('-') && words[at] !== '--'; at++) {
    const option = command?.options.find(({ long, short }) => [long, short].includes(words[at]))
    if (option?.required && words[++at] === '--') throw missingValue(option.flags)
  }
}

/**
 * Reads `--color` alone as `--color=always`: a file or a command may follow it, which commander would take
 * for its value. What follows the name of an agent is the agent's.
 */
function withColorAlone(program: Command, words: readonly string[]): readonly string[] {
  const command = program.commands.find((each) => each.name() === words[2])
  const { options = [], registeredArguments = [] } = command ?? {}
  const { argChoices: times } = options.find(({ long }) => long === '--color') ?? {}
  if (!times) return words
  const isForAgent = registeredArguments.some(({ variadic }) => variadic)
  const read = [...words]
  for (let at = 3; at < read.length && read[at] !== '--'; at++) {
    if (isForAgent && !read[at]!.startsWith('-')) break
    const alone = read[at] === '--color' && !times.includes(read[at + 1] ?? '')
    if (alone) read[at] = '--color=always'
    else if (options.find(({ long, short }) => [long, short].includes(read[at]))?.required) at++
  }
  return read
}

/** The library names options as code does: `answerIn` in backquotes, `rounds must be …` or
 * `items: …`. */
function inFlags(message: string, program: Command, command: string | undefined): string {
  const options = program.commands.find((each) => each.name() === command)?.options
  return message.replace(/`(\w+)`|^(\w+)(?= must |: )/g, (found, quoted, first) => {
    const flag = options?.find((option) => option.attributeName() === (quoted ?? first))
    return flag?.long ?? found
  })
}

/**
 * Reads `help nope` as `nope`: for that, commander says that there is no such command. `help --help` is
 * `help`: commander would print it as an error.
 */
function withoutUnknownHelp(words: readonly string[]): readonly string[] {
  const [node = '', program = '', first, name = ''] = words
  if (first === 'help' && ['help', '--help', '-h'].includes(name)) return [node, program, first]
  const unknown = first === 'help' && name !== '' && !name.startsWith('-')
  return unknown && !Object.hasOwn(commands, name) ? [node, program, name] : words
}

/** The program with every command by name; the named commands are loaded, the others are only listed. */
async function programFor(words: readonly string[], exit: (code: number) => void): Promise<Command> {
  const program = new Command('sluice')
    .enablePositionalOptions()
    .description('Turns the raw output of agents into validated values and events.')
    .version(version(), '-v, --version')
    .addHelpText('after', examples)
    // The arguments of a command that is not loaded are unknown; its own help shows them.
    .configureHelp({ subcommandTerm: (command) => command.name() })
  for (const [name, [summary, load]] of Object.entries(commands)) {
    const isNamed = words.includes(name)
    const command = isNamed ? commandOf(name, (await load()).default, exit) : new Command(name)
    program.addCommand(command.summary(summary))
  }
  for (const command of [program, ...program.commands]) {
    command
      .configureHelp({ ...command.configureHelp(), optionDescription: describeOption })
      .showSuggestionAfterError(false)
      .exitOverride()
      .configureOutput({
        // It is told as all errors are.
        outputError: () => {},
        // Not awaited; `flushed` reports a failure.
        writeOut: (text) => void output()(text).catch(() => {}),
      })
  }
  return program
}

/** Prints what can follow the words typed in a shell. */
async function complete(program: Command, typed: readonly string[]): Promise<void> {
  const { completionLines } = await import('./commands/completion.ts')
  await output()(completionLines(program, typed))
}
