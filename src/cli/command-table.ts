import { Argument, Command, Help, Option } from 'commander'

/** How a value is read: by a function, or as one of these words. `before` is what was read so far. */
// biome-ignore lint/suspicious/noExplicitAny: each reader has a type of its own for what it has read
type Reader = readonly string[] | ((text: string, before: any) => unknown)

/** An option or an argument: its flags or its name, its line of the help, how it is read, its default. */
export type Row = readonly [name: string, about: string, reader?: Reader | undefined, byDefault?: unknown]

/** A command of `sluice`, as a table. */
export interface CommandTable {
  readonly about: string
  /** Where the arguments do not say it: `[options] [dir] <text>`. */
  readonly usage?: string
  readonly args?: readonly Row[]
  readonly options?: readonly (Row | Option)[]
  /** The option that must be given. */
  readonly required?: `--${string}`
  /** What follows the first argument belongs to it, options and all. */
  readonly passThrough?: true
  /** What follows the options in the help. */
  readonly help: string
  /** A help for most readers, with these options only; the whole one is for `--help-all`. */
  readonly brief?: { readonly options: readonly string[]; readonly help: string }
  /** Gets the arguments, the flags and the command. Resolves with the exit code. */
  readonly act: (...given: never[]) => Promise<number>
}

export function commandOf(name: string, table: CommandTable, exit: (code: number) => void): Command {
  const { about, usage, args = [], options = [], required, passThrough = false, help, brief } = table
  const command = new Command(name).description(about).passThroughOptions(passThrough)
  if (usage !== undefined) command.usage(usage)
  for (const row of args) command.addArgument(completed(new Argument(row[0], row[1]), row))
  for (const row of options) {
    const option = row instanceof Option ? row : completed(new Option(row[0], row[1]), row)
    command.addOption(option.makeOptionMandatory(option.long === required))
  }
  command.addHelpText('after', () => (brief && !all ? brief.help : help))
  const isShown = ({ long }: Option) => !brief || all || brief.options.includes(long?.slice(2) ?? '')
  command.configureHelp({ visibleOptions: (shown) => new Help().visibleOptions(shown).filter(isShown) })
  // Cast: commander gives an action what its table says.
  const act = table.act as (...given: unknown[]) => Promise<number>
  return command.action(async (...given: unknown[]) => exit(await act(...given)))
}

function completed<T extends Argument | Option>(made: T, [, , reader, byDefault]: Row): T {
  if (typeof reader === 'function') made.argParser(reader)
  else if (reader) made.choices(reader)
  if (byDefault !== undefined) made.default(byDefault)
  return made
}

/** Whether the help shows every option. */
let all = false

/** Reads `--help-all` as `--help` with every option, unless it is a word of the agent's own command. */
export function withHelpAll(words: readonly string[]): readonly string[] {
  const end = words.indexOf('--')
  const at = words.indexOf('--help-all')
  all = at >= 0 && (end < 0 || at < end)
  return all ? words.with(at, '--help') : words
}

/** The description of an option. The engines are too many to be listed everywhere. */
export function describeOption(option: Option): string {
  if (option.long === '--engine') return `${option.description} (sluice engines lists them)`
  return new Help().optionDescription(option)
}
