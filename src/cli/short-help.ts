import { type Command, Help, type Option } from 'commander'

/** Whether to show every option. */
let all = false

/** Reads `--help-all` as `--help` with every option, unless it is a word of the agent's own command. */
export function withHelpAll(words: readonly string[]): readonly string[] {
  const end = words.indexOf('--')
  const at = words.indexOf('--help-all')
  all = at >= 0 && (end < 0 || at < end)
  return all ? words.with(at, '--help') : words
}

/** Shows the `common` options of a command and `brief`; with `--help-all` every option and `full`. */
export function shortHelp(
  command: Command,
  common: readonly string[],
  texts: { readonly brief: string; readonly full: string },
): Command {
  const isCommon = ({ long }: Option) => common.includes(long?.slice(2) ?? '')
  return command
    .configureHelp({
      visibleOptions: (shown) => {
        const every = new Help().visibleOptions(shown)
        return all ? every : every.filter(isCommon)
      },
    })
    .addHelpText('after', () => (all ? texts.full : texts.brief))
}

/** The description of an option. The engines are too many to be listed everywhere. */
export function describeOption(option: Option): string {
  if (option.long === '--engine') return `${option.description} (sluice engines lists them)`
  return new Help().optionDescription(option)
}
