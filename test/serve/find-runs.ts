import { type FoundRun, RunFinder } from '../../src/serve/run-finder.ts'

const found = new WeakMap<RunFinder, Map<string, FoundRun>>()

/** The runs that a finder knows after another look, the last changed first at its first one. */
export function runsOf(finder: RunFinder): FoundRun[] {
  const runs = found.get(finder) ?? new Map<string, FoundRun>()
  found.set(finder, runs)
  for (const run of finder.look()) {
    if (run && 'gone' in run) runs.delete(run.gone)
    else if (run) runs.set(run.place.key, run)
  }
  return [...runs.values()]
}

/** The runs under a directory. */
export function findRuns(dir: string): FoundRun[] {
  return runsOf(new RunFinder(dir))
}
