/** Whether this is `npm run test:slow`, where every file that imports this one runs again, at full length. */
export const slow = process.env['SLUICE_SLOW'] === '1'

/**
 * Random inputs are the same in every run, so that the same commit gets the same verdict. Another seed gives
 * others: `SLUICE_SEED=$RANDOM npm run test:slow`.
 */
export const seed = Number(process.env['SLUICE_SEED'] ?? 1)

/**
 * How many random inputs a property is tried on: a tenth in `npm test`, all of them in `npm run test:slow`,
 * and there as many times that as `SLUICE_TIMES` says: `SLUICE_TIMES=50 npx vitest run --project slow
 * test/laws.test.ts`.
 *
 * @example
 * fc.assert(property, { numRuns: runs(2000) })
 */
export function runs(all: number): number {
  return Math.ceil(Math.max(5, slow ? all * Number(process.env['SLUICE_TIMES'] ?? 1) : all / 10))
}

/**
 * Some of many cases, from the first to the last: every tenth in `npm test`, all of them in `npm run
 * test:slow`.
 */
export function some<T>(all: readonly T[]): readonly T[] {
  return slow ? all : all.filter((_, index) => index % 10 === 0)
}

/**
 * How often a loop is repeated in which processes are killed or left at random: a tenth in `npm run
 * test:slow`, all of them in `npm run soak`.
 */
export function loops(all: number): number {
  return process.env['SLUICE_SOAK'] === '1' ? all : Math.ceil(all / 10)
}
