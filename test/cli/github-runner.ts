import { readFileSync, statSync } from 'node:fs'

// What GitHub's runner does with a step, after its sources (Runner.Worker: ActionCommandManager,
// FileCommandManager; version 2.3xx): a second opinion on what we write, on Linux.

/** The commands that it knows, beside the token that ends a pause. */
const known = [
  ...['add-mask', 'add-matcher', 'add-path', 'debug', 'echo', 'endgroup', 'error', 'group', 'notice'],
  ...['remove-matcher', 'save-state', 'set-env', 'set-output', 'stop-commands', 'warning'],
]

export interface RunnerCommand {
  readonly name: string
  readonly properties: Readonly<Record<string, string>>
  readonly data: string
}

/** The commands in a log that are carried out. */
export function commandsIn(log: string): RunnerCommand[] {
  const done: RunnerCommand[] = []
  let token: string | undefined
  for (const line of log.split('\n')) {
    const command = commandOf(line, token === undefined ? known : [...known, token])
    if (!command) continue
    if (token !== undefined) {
      if (command.name === token) token = undefined
    } else if (command.name === 'stop-commands') token = command.data
    else done.push(command)
  }
  return done
}

/** `::name a=b,c=d::data` at the start of a line, or `##[name a=b;c=d]data` anywhere in it. */
function commandOf(line: string, names: readonly string[]): RunnerCommand | undefined {
  const trimmed = line.trimStart()
  const colons = trimmed.startsWith('::') ? trimmed.indexOf('::', 2) : -1
  const hash = line.indexOf('##[')
  const bracket = hash < 0 ? -1 : line.indexOf(']', hash)
  for (const [info, separator, data] of [
    ...(colons < 0 ? [] : [[trimmed.slice(2, colons), ',', trimmed.slice(colons + 2)] as const]),
    ...(bracket < 0 ? [] : [[line.slice(hash + 3, bracket), ';', line.slice(bracket + 1)] as const]),
  ]) {
    const [name = '', ...rest] = info.split(' ')
    if (!names.includes(name.toLowerCase())) continue
    const pairs = rest.join(' ').split(separator).filter(Boolean)
    const properties = Object.fromEntries(
      pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), unescaped(pair.slice(pair.indexOf('=') + 1))]),
    )
    return { name: name.toLowerCase(), properties, data: unescaped(data) }
  }
  return undefined
}

function unescaped(text: string): string {
  const marks = { '%0D': '\r', '%0A': '\n', '%3A': ':', '%2C': ',', '%25': '%' }
  return Object.entries(marks).reduce((all, [mark, plain]) => all.replaceAll(mark, plain), text)
}

/** The outputs in a file. Throws where the runner fails the step. */
export function outputsIn(path: string): Record<string, string> {
  const outputs: Record<string, string> = {}
  const lines = readFileSync(path, 'utf8').split('\n')
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!
    if (line === '') continue
    const equals = line.indexOf('=')
    const heredoc = line.indexOf('<<')
    if (equals >= 0 && (heredoc < 0 || equals < heredoc)) {
      outputs[line.slice(0, equals)] = line.slice(equals + 1)
      continue
    }
    const [name, delimiter] = [line.slice(0, heredoc), line.slice(heredoc + 2)]
    if (heredoc < 1 || delimiter === '') throw new Error(`Invalid format '${line}'`)
    const end = lines.indexOf(delimiter, at + 1)
    if (end < 0) throw new Error(`Matching delimiter not found '${delimiter}'`)
    outputs[name] = lines.slice(at + 1, end).join('\n')
    at = end
  }
  return outputs
}

/** The summary of a step; empty if the runner does not upload it. */
export function summaryIn(path: string): string {
  return statSync(path).size > 1024 * 1024 ? '' : readFileSync(path, 'utf8')
}
