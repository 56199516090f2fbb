import fs from 'node:fs'

/**
 * Lets a loop sleep until something happens: a watched file changes, `wake` is called,
 * or `pollMs` have passed (a watcher can fail silently on network disks, or there may be no more watchers).
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
      // No watcher available: polling is enough.
    }
  }

  /** Ends the sleep, or the next one if the loop is not sleeping. */
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
