import { realpath } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { Fault, quote } from '../base/fault.ts'
import { readResult } from './result-file.ts'
import type { Evidence } from './settle.ts'

/** The worker in comments and audits when a person gave the result. */
export const BY_HAND = 'by hand'

/**
 * Reads a result that a person wrote: JSON if it begins with a bracket, else headers as in `work_result.txt`.
 *
 * It is read as carefully as that of a worker, because it may be in the worker's repository, where the worker
 * may have put a link to a secret under its name. An unreadable file throws: the person is there to fix it.
 */
export async function readByHand(
  path: string,
  maxResult: number,
): Promise<Pick<Evidence, 'json' | 'text' | 'names'>> {
  const full = resolve(path)
  const name = basename(full)
  const folder = await realpath(dirname(full)).catch(() => undefined)
  const found =
    folder === undefined
      ? { state: 'absent' as const }
      : await readResult(folder, name, { print: undefined }, maxResult)
  if (found.state !== 'read') {
    const why = found.state === 'refused' ? found.message : 'is not there'
    throw new Fault('BAD_OPTION', `the result file ${quote(path, 200)} ${why}`)
  }
  const names = { json: name, text: name }
  return '{['.includes(found.text.replace('\ufeff', '').trimStart()[0] ?? '.')
    ? { json: found, names }
    : { text: found, names }
}
