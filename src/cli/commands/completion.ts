import { script } from '@bomb.sh/tab'
import { Argument, Command } from 'commander'
import { exits } from '../exit-code-table.ts'
import { output } from '../print.ts'

const examples = `
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
export function completionCommand(exit: (code: number) => void): Command {
  return new Command('completion')
    .description('Prints a script that lets a shell complete the command line of sluice.')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', examples)
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      await output()(shell === 'bash' ? bash : `${generated(shell)}\n${alsoComplete[shell]}\n`)
      exit(exits.good)
    })
}

/**
 * The generated script for bash evaluates what was typed (with `$(rm x)` on the line, Tab runs it), needs the
 * package bash-completion, and never offers files. This one passes the words on unchanged.
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

/** The other name of the program. */
const alsoComplete = { zsh: 'compdef _sluice agent-sluice', fish: 'complete -c agent-sluice -w sluice' }

function generated(shell: 'zsh' | 'fish'): string {
  const { log } = console
  let text = ''
  // The library prints the script; our own output detects a full disk.
  console.log = (line: string) => {
    text += line
  }
  try {
    script(shell, 'sluice', 'sluice')
  } finally {
    console.log = log
  }
  return text
}
