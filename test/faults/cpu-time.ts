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
