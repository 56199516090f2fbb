import { type Code, Fault } from '../base/fault.ts'

/** Calls third-party code, which may throw anything, or never answer: both become a Fault with this code. */
export async function within<T>(ask: () => Promise<T>, who: string, code: Code, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Fault(code, `${who} did not answer in ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([ask(), late])
  } catch (error) {
    if (Fault.is(error)) throw error
    throw new Fault(code, `${who} failed`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
