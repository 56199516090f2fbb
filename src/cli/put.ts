import { once } from 'node:events'

/**
 * Writes to stdout at the speed it is read. False when nobody reads any more (EPIPE): then stop, quietly.
 */
export async function put(text: string): Promise<boolean> {
  const { stdout } = process
  if (stdout.destroyed || stdout.errored) return false
  if (stdout.write(text)) return true
  try {
    await once(stdout, 'drain')
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return false
    throw error
  }
}
