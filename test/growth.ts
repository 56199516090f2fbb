import { slow } from './pace.ts'

/** If work on the small input takes less than this, a larger input is tried before it passes. */
const MEASURABLE_MS = 0.05

/**
 * If work on the large input takes less than this, a larger input is tried before it fails. If it takes
 * longer, one larger input is tried all the same: behind a limit of size, linear work may take another path.
 */
const CERTAIN_MS = 30

/** No larger input is tried. */
const HOPELESS_MS = 2000

/** Nothing counts as shorter than this: reading the clock takes some microseconds of its own. */
const SHORTEST_MS = 0.02

/**
 * Fails if the work is closer to quadratic than to linear: `factor` times the input may take up to
 * `factor ** 1.5` times the CPU time. With the default of 8 that is 22 times, where linear work takes 8 times
 * and quadratic work 64 times. There is no limit in seconds, so a slow host cannot fail it.
 *
 * What is measured is CPU time, because it stands still while other processes have the core. What still adds
 * to it (garbage collection, the compiler, a neighbour's use of the cache) only ever adds, so the least of
 * several runs is used. The large input runs first and so warms up the code for the small one: cold code
 * would make the small input look slow, and so hide quadratic growth. A good ratio ends the measurement: more
 * runs of the large input could only lower it.
 *
 * Counted steps would be steadier, but V8's block coverage counts neither the characters that `indexOf` and
 * regular expressions walk over, nor functions that were compiled before it was turned on, and it takes the
 * counts away from `--coverage`.
 *
 * @param what names the work when it fails
 * @param make prepares work on an input of so many characters; only the work is measured, several times
 * @example
 * await expectLinear('quotes', (size) => {
 *   const text = '"'.repeat(size)
 *   return () => tryParse(text)
 * })
 */
export async function expectLinear(
  what: string,
  make: (size: number) => () => unknown,
  { size = slow ? 16_000 : 400, factor = 8, tries = 3 } = {},
): Promise<void> {
  const limit = factor ** 1.5
  let bad = 0
  for (let grown = 1; ; grown *= 4, size *= 4) {
    const large = make(size * factor)
    const small = make(size)
    let [most, least, turn] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 0]
    do {
      most = Math.min(most, await cpuMilliseconds(large))
      for (let run = 0; run < 3; run++) least = Math.min(least, await cpuMilliseconds(small))
      least = Math.max(least, SHORTEST_MS)
    } while (++turn < tries && most > limit * least)
    if (most <= limit * least) {
      if (least >= MEASURABLE_MS || grown >= 4) return
    } else if ((most >= CERTAIN_MS && ++bad > 1) || most >= HOPELESS_MS || grown >= 64) {
      throw new Error(
        `${what}: ${factor} times the input takes ${(most / least).toFixed(1)} times the CPU time ` +
          `(${least.toFixed(2)} ms for ${size}, ${most.toFixed(2)} ms for ${size * factor}); ` +
          `${limit.toFixed(1)} times are allowed, linear is ${factor} times, quadratic ${factor ** 2} times`,
      )
    }
  }
}

/** User and system time together: only their sum is exact, the system estimates how it is shared out. */
async function cpuMilliseconds(work: () => unknown): Promise<number> {
  const started = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1000
}
