import type { Command, Option } from 'commander'
import type { CommandTable } from '../command-table.ts'
import { exits } from '../exit-codes.ts'
import { output } from '../print.ts'

const help = `
The script completes commands, options, the values of options with a fixed set,
and file names. It asks sluice itself, so sluice must be on the PATH:
npm install --global agent-sluice.

Add one of these lines to the start-up file of your shell:
  eval "$(sluice completion bash)"        # ~/.bashrc
  source <(sluice completion zsh)         # ~/.zshrc, after compinit
  sluice completion fish | source         # ~/.config/fish/config.fish

Example:
  $ npx agent-sluice completion bash`

/** `sluice completion`: the script with which a shell completes the command line of sluice. */
export default {
  about: 'Prints a script that lets a shell complete the command line of sluice.',
  args: [['<shell>', 'the shell', ['bash', 'zsh', 'fish']]],
  help,
  async act(shell: keyof typeof scripts) {
    await output()(scripts[shell])
    return exits.good
  },
} satisfies CommandTable

/**
 * Each script asks `sluice complete` with the words as the shell has split them: nothing of what is typed is
 * evaluated, so `$(rm x)` on the line stays a text.
 */
const bash = `# bash completion for sluice
_sluice_completion() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    # The last line begins with a colon and is for other shells.
    [[ $line == :* ]] || COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(sluice complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _sluice_completion sluice agent-sluice
`

const zsh = `# zsh completion for sluice
_sluice() {
  local line files=1
  local -a completions
  for line in "\${(@f)$(sluice complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :4) files=0 ;;
      :*|'') ;;
      # A colon ends the candidate, a tab does in what sluice prints.
      *) completions+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  compset -P '-*='
  if (( $#completions )); then _describe sluice completions
  elif (( files )); then _files
  fi
}
compdef _sluice sluice agent-sluice
`

const fish = `# fish completion for sluice
function __sluice_complete
  set -l typed (commandline -opc)
  set -l word (commandline -ct)
  set -l before (string match -r -- '^-.*=' $word)
  set -l lines (sluice complete -- $typed[2..] "$word" 2>/dev/null)
  for line in $lines
    string match -q ':*' -- $line; or printf '%s%s\\n' "$before" $line
  end
  test (count $lines) -gt 1; or contains -- :4 $lines; or __fish_complete_path "$word"
end
complete -c sluice -e
complete -c sluice -f -a '(__sluice_complete)'
complete -c agent-sluice -e
complete -c agent-sluice -w sluice
`

const scripts = { bash, zsh, fish } as const

/** What can follow the words typed so far. */
interface Completions {
  readonly found: readonly Candidate[]
  /** Whether the shell should offer file names if there are no candidates. */
  readonly files: boolean
}

interface Candidate {
  readonly value: string
  readonly description: string
}

/**
 * The output for the scripts of `sluice completion`: a line for each candidate, then a number: 4 if the shell
 * should offer no file names, else 0.
 */
export function completionLines(program: Command, typed: readonly string[]): string {
  const { found, files } = completionsOf(program, typed)
  const lines = found.map(({ value, description }) => `${value}\t${description}`)
  return [...lines, files ? ':0' : ':4', ''].join('\n')
}

/**
 * What can follow on a command line: commands, options, the values of an option with a fixed set. The last
 * word is the one being typed, and may be empty. The program must contain the named command completely.
 *
 * @example
 * completionsOf(program, ['values', '--pick', 'l']) // found: [{ value: 'last', description: '' }]
 */
function completionsOf(program: Command, typed: readonly string[]): Completions {
  // bash splits `--pick=last` into three words.
  const words = typed.slice(0, -1).filter((word) => word !== '=')
  const last = typed.at(-1) ?? ''
  const word = last === '=' ? '' : last
  // After -- comes the command line of another program.
  if (words.includes('--')) return { found: [], files: true }
  const name = words.find((word) => !word.startsWith('-'))
  if (name === undefined || name === 'help')
    return { found: word.startsWith('-') ? options(program, word) : names(program, word), files: false }
  const command = program.commands.find((command) => command.name() === name)
  if (!command) return { found: [], files: true }
  const [flag = '', value = ''] =
    word.startsWith('--') && word.includes('=') ? halves(word) : [words.at(-1), word]
  const option = command.options.find(
    (option) => option.required && [option.long, option.short].includes(flag),
  )
  if (option) return valuesOf(option, value)
  if (word.startsWith('-')) return { found: options(command, word), files: false }
  const choices = command.registeredArguments[0]?.argChoices
  return { found: candidates(choices ?? [], word), files: !choices }
}

function names(program: Command, word: string): Candidate[] {
  const help = program.createHelp()
  return help
    .visibleCommands(program)
    .map((command) => ({ value: command.name(), description: help.subcommandDescription(command) }))
    .filter(({ value }) => value.startsWith(word))
}

function options(command: Command, word: string): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, description }) => ({ value: long ?? '', description }))
    .filter(({ value }) => value !== '' && value.startsWith(word))
}

function valuesOf({ argChoices, flags }: Option, value: string): Completions {
  const takesFile = ['<file>', '<dir>', '<path>'].some((placeholder) => flags.endsWith(placeholder))
  // Instead of a name, the user may give the path of a module, which has a slash.
  return { found: candidates(argChoices ?? [], value), files: takesFile || value.includes('/') }
}

function candidates(choices: readonly string[], word: string): Candidate[] {
  return choices
    .filter((choice) => choice.startsWith(word))
    .map((choice) => ({ value: choice, description: '' }))
}

function halves(word: string): [string, string] {
  const at = word.indexOf('=')
  return [word.slice(0, at), word.slice(at + 1)]
}
