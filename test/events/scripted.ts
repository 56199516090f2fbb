import type { Engine, EngineFrame, Say } from '../../src/events/engine.ts'

/**
 * One report of the engine: the name of a method of `Say`, and its arguments; null stands for undefined.
 *
 * - `return`: what `read` returns, true unless it is told.
 * - `about` and `giveBack` take the number of a frame that was read before, from 0.
 * - `atEnd`: the reports of `end`.
 * - `throw`: the engine throws this message.
 */
type Report = readonly [name: string, ...args: unknown[]]

/**
 * An engine that does what its records say: `[["message","a","Hello."],["ended","stop"]]`. A line such as
 * `say Hello.` is a message, too.
 */
export const scripted: Engine = {
  name: 'scripted',
  parser: 'scripted_ndjson',
  cut: { stdout: 'records', pty: 'records' },
  open() {
    const frames: EngineFrame[] = []
    const last: Report[] = []
    const tell = (say: Say, reports: readonly Report[]): boolean | 'kept' => {
      let answer: unknown = true
      for (const [name, ...args] of reports) {
        if (name === 'return') answer = args[0]
        else if (name === 'throw') throw new Error(String(args[0]))
        else if (name === 'atEnd') last.push(...(args as unknown as Report[]))
        else if (name === 'about' || name === 'giveBack') say[name](frames[Number(args[0])]!)
        else {
          const said = say as unknown as Record<string, (...args: unknown[]) => void>
          said[name]!(...args.map((value) => value ?? undefined))
        }
      }
      return answer as boolean | 'kept'
    }
    return {
      read(frame, say) {
        frames.push(frame)
        const { value, text } = frame
        if (text.startsWith('say ')) return tell(say, [['message', null, text.slice(4)]])
        return Array.isArray(value) && value.every(Array.isArray)
          ? tell(say, value as unknown as Report[])
          : false
      },
      end: (say) => void tell(say, last),
    }
  },
}
