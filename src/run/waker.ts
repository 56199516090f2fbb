import fs from 'node:fs'

/**
 * Lets a loop sleep until something happens: a watched file changes, somebody calls `wake`,
 * or `pollMs` have passed (a watcher can fail silently on network disks, and there may be none left).
 */
export class Waker {
  readonly #watchers: fs.FSWatcher[] = []
  readonly #pollMs: number
  #woken = false
  #resume: (() => void) | undefined

  constructor(pollMs: number) {
    this.#pollMs = pollMs
  }

  /** Wakes when the file changes, or something in the folder. */
  watch(path: string): void {
    try {
      const watcher = fs.watch(path, { persistent: false }, this.wake)
      watcher.on('error', () => watcher.close())
      this.#watchers.push(watcher)
    } catch {
      // No watcher to be had: polling is enough.
    }
  }

  /** Ends the sleep, or the next one if nobody sleeps. */
  readonly wake = (): void => {
    this.#woken = true
    this.#resume?.()
  }

  async sleep(): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.#pollMs)
        this.#resume = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      this.#resume = undefined
    }
    this.#woken = false
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close()
    this.wake()
  }
}
