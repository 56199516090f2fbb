/** The least CPU time of some runs, in microseconds. */
export function cpuTime(runs: number, work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < runs; run++) {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, user + system)
  }
  return least
}

/**
 * How many times as long the work takes at four times the size: about 4 in linear time, about 16 in quadratic.
 * `make` prepares the work of a size, which is not timed.
 */
export function growth(size: number, make: (size: number) => () => unknown): number {
  const [short, long] = [make(size), make(4 * size)]
  let least = Number.POSITIVE_INFINITY
  // While code is cold or a collection runs it takes longer, so a large result is measured again. Less than a
  // millisecond is mostly noise.
  for (let tries = 0; tries < 4 && least >= 6; tries++)
    least = Math.min(least, cpuTime(3, long) / Math.max(cpuTime(3, short), 1000))
  return least
}
