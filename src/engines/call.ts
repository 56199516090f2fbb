import { isRecord, text } from '../events/engine.ts'
import { memory } from '../events/memory.ts'

/** What the end of a call does not repeat: its name, and the file it was to write. */
interface Known {
  readonly name: string
  readonly path: string | undefined
}

/** Remembers the calls that have begun. Not their inputs: those may contain the whole text of a file. */
export function calls() {
  const known = memory<Known>(({ name, path }) => name.length + (path?.length ?? 0))
  return {
    begun(id: string, name: string, input: unknown): void {
      known.set(id, { name, path: isRecord(input) ? text(input['file_path']) : undefined })
    },
    ended: (id: string): Known | undefined => known.take(id),
  }
}
