import fs from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { Fault, quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'

/** The Fault for a command that cannot be started. Node reports ENOENT for a missing `cwd`, too. */
export function cannotStart(command: string, cwd: string | undefined, cause: unknown): Fault {
  const code = String(codeOf(cause))
  // A whole command line, as a shell takes it.
  const line = / -/.test(command) ? '; arguments are a list of their own: ["exec", "--json"]' : ''
  const why = code === 'ENOENT' ? `${whatIsMissing(command, cwd)}${line}` : (reasons.get(code) ?? code)
  return new Fault('SPAWN_FAILED', `cannot start ${quote(command, 120)}: ${why}`, { cause })
}

function whatIsMissing(command: string, cwd: string | undefined): string {
  if (cwd === undefined)
    return 'no such command, or no such working directory; is it installed and on PATH, and is cwd right?'
  if (!fs.existsSync(cwd)) return `the working directory ${quote(cwd, 120)} does not exist`
  // A relative path is looked up in the working directory, not where the caller is.
  if (command.includes('/') && !isAbsolute(command) && !fs.existsSync(resolve(cwd, command)))
    return `no such file in the working directory ${quote(cwd, 120)}`
  return 'no such command; is it installed and on PATH?'
}

const reasons = new Map([
  ['EACCES', 'it is not an executable program, or the working directory cannot be entered (EACCES)'],
  ['ENOTDIR', 'a part of its path, or the working directory, is not a directory (ENOTDIR)'],
  ['E2BIG', 'its arguments and environment are too long; pass long text as input (E2BIG)'],
  ['ERR_INVALID_ARG_VALUE', 'its arguments or environment contain a NUL character'],
])
