import { accessSync, constants, createReadStream, fstatSync, type Stats, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { badOption, Fault, orElse, quote } from '../../base/fault.ts'
import { codeOf, whyFailed } from '../../base/system-error-code.ts'

/** Opens FILE, or stdin for none and for `-`. Throws a Fault that says what is wrong with it. */
export function openInput(file: string | undefined): { stream: Readable; size: number | undefined } {
  if (file === undefined || file === '-') {
    // Node makes an empty stream of a directory.
    if (orElse(() => fstatSync(0).isDirectory(), false)) throw isDirectory('stdin')
    if (process.stdin.isTTY) console.error('sluice: reading from the terminal; end with Ctrl-D')
    return { stream: process.stdin, size: undefined }
  }
  const stats = statOf(file)
  return {
    stream: createReadStream(file, { highWaterMark: 1 << 18 }),
    size: stats.isFile() ? stats.size : undefined,
  }
}

/** Reads the JSON Schema, if one is named. The validator is large, so it is loaded with the first schema. */
export async function readSchema(file: string | undefined): Promise<Record<string, unknown> | undefined> {
  if (file === undefined) return undefined
  const { jsonSchema } = await import('../../values/schema/json-schema.ts')
  const { acceptPlainSchemas } = await import('../../values/schema/schema.ts')
  acceptPlainSchemas(jsonSchema)
  const schema = await readObject(file, 'the schema')
  try {
    // Compiled here, so that a message can name the file.
    jsonSchema(schema)
  } catch (cause) {
    if (!Fault.is(cause)) throw cause
    throw new Fault(cause.code, `${quote(file, 200)}: ${cause.message}`, { cause })
  }
  return schema
}

/** Reads a file with one JSON object, such as a schema. */
export async function readObject(file: string, what: string): Promise<Record<string, unknown>> {
  statOf(file)
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw unreadable(quote(file, 200), cause)
  })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    // Cast: JSON.parse and the file system throw only Errors.
    const why = quote((cause as Error).message, 120)
    throw badOption(`${what} ${quote(file, 200)} is not JSON: ${why}`, { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badOption(`${what} ${quote(file, 200)} must be a JSON object`)
  return value as Record<string, unknown> // cast: checked in the line above
}

/** The fault for an input that cannot be opened, or fails while it is read. */
export function unreadable(what: string, cause: unknown): Fault {
  // Cast: streams and the file system throw only Errors. Those of a stream may have no code.
  const why = codeOf(cause) === undefined ? quote((cause as Error).message, 120) : whyFailed(cause)
  return badOption(`cannot read ${what}: ${why}`, { cause })
}

function statOf(file: string): Stats {
  let stats: Stats
  try {
    stats = statSync(file)
    // A stream that fails to open cannot say which file it was.
    accessSync(file, constants.R_OK)
  } catch (cause) {
    throw unreadable(quote(file, 200), cause)
  }
  if (stats.isDirectory()) throw isDirectory(quote(file, 200))
  return stats
}

function isDirectory(what: string): Fault {
  return unreadable(what, { code: 'EISDIR' })
}

const MAX_PROMPT = 16 * 1024 * 1024

/** The text of a prompt in FILE, or on stdin for none and for `-`. */
export async function readPrompt(file: string | undefined): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  const what = file === undefined || file === '-' ? 'stdin' : quote(file, 200)
  const { stream } = openInput(file)
  try {
    for await (const piece of stream) {
      const bytes = Buffer.from(piece)
      size += bytes.length
      if (size > MAX_PROMPT) break
      pieces.push(bytes)
    }
  } catch (cause) {
    throw unreadable(what, cause)
  }
  if (size > MAX_PROMPT) throw badOption(`the prompt in ${what} is longer than ${MAX_PROMPT} bytes`)
  return Buffer.concat(pieces).toString('utf8')
}
