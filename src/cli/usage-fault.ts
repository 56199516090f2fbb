import type { Command, CommanderError } from 'commander'
import { nearest } from '../base/check-options.ts'
import { badOption, type Fault, quote } from '../base/fault.ts'

/** Options that had another name in an earlier version. */
const renamed: Readonly<Record<string, string>> = { '--retries': '--rounds' }

/**
 * What commander says about a wrong command line, in the style of all our errors: what is wrong, then what to
 * do, on one line. Its message is where the words are that it found.
 */
export function usageFault({ code, message }: CommanderError, command: Command): Fault {
  const name = command.parent ? `${command.name()} ` : ''
  const words = message.replace(/^error: /, '')
  // Greedy up to the fixed words that follow: what was typed may have quotes, too.
  const [, found = ''] = /'([\s\S]*)'/.exec(words) ?? []
  const lists = `sluice ${name}--help lists them`
  switch (code) {
    case 'commander.unknownCommand': {
      const near = nearest(
        found,
        command.commands.map((each) => each.name()),
      )
      return misuse(`there is no command ${quote(found)}`, near ? `did you mean ${near}?` : lists)
    }
    case 'commander.unknownOption': {
      const known = command.options.flatMap(({ long }) => long ?? [])
      const now = renamed[found]
      const near = nearest(found, known)
      const advice = near ? `did you mean ${near}?` : `sluice ${name}--help-all lists them`
      const what = `${name || 'sluice '}has no option ${quote(found)}`
      return misuse(what, now && known.includes(now) ? `it is called ${now} now` : advice)
    }
    case 'commander.missingArgument':
      return misuse(`the ${found} is missing`, usageOf(command))
    case 'commander.excessArguments':
      return misuse('there are too many arguments', usageOf(command))
    case 'commander.optionMissingArgument':
      return missingValue(found)
    case 'commander.missingMandatoryOptionValue':
      return misuse(`${flagIn(found)} is missing`, `give it as ${found}`)
    case 'commander.invalidArgument':
      return misuse(...invalidWords(words))
    default:
      return misuse(quote(words, 200), lists)
  }
}

/**
 * `option '--port <n>' argument 'x' is invalid. Give a number.`, or `command-argument value 'x' is invalid
 * for argument 'shell'. Allowed choices are …`
 */
function invalidWords(words: string): [what: string, advice: string] {
  const [head = '', flags] = /^(?:option '([^']*)' argument|command-argument value) '/.exec(words) ?? []
  // What was typed may have quotes, too.
  const end = words.lastIndexOf("' is invalid")
  const [, argument = '', rule = ''] =
    /^' is invalid(?: for argument '([^']*)')?\. ([\s\S]*)$/.exec(words.slice(end)) ?? []
  const advice = rule.replace(/^Allowed choices are/, 'it is one of').replace(/\.$/, '')
  const name = flags === undefined ? argument : flagIn(flags)
  return [
    `${name} cannot be ${quote(words.slice(head.length, end))}`,
    advice.charAt(0).toLowerCase() + advice.slice(1),
  ]
}

/** For an option, with its flags as they are declared: `--to <addresses>`. */
export function missingValue(flags: string): Fault {
  return misuse(`${flagIn(flags)} has no value`, `give it as ${flags}`)
}

function misuse(what: string, advice: string): Fault {
  return badOption(`${what}; ${advice}`)
}

/** `sluice ls [options] [dir]` */
function usageOf(command: Command): string {
  return `the usage is: sluice ${command.name()} ${command.usage()}`
}

/** `--to <addresses>` is `--to`. */
function flagIn(flags: string): string {
  return flags.split(' ', 1)[0]!
}
