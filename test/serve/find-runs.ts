import { type FoundRun, RunFinder } from '../../src/serve/run-finder.ts'

/** The runs that a finder finds now. */
export function runsOf(finder: RunFinder): FoundRun[] {
  return [...finder.all()].filter((run) => run !== undefined)
}

/** The runs under a directory. */
export function findRuns(dir: string): FoundRun[] {
  return runsOf(new RunFinder(dir))
}
