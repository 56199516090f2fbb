import fs from 'node:fs'

/**
 * Calls `changed` when a file changes, or something in a folder, whose name it then gets. Undefined if there
 * is no watcher to be had: the caller polls anyway, because a watcher can fail silently on network disks.
 */
export function watchPath(path: string, changed: (name: string | null) => void): fs.FSWatcher | undefined {
  try {
    const watcher = fs.watch(path, { persistent: false }, (_, name) => changed(name))
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    return undefined
  }
}

/**
 * Lets any number of loops sleep until something happens: a watched file changes, `wake` is called, or
 * `pollMs` have passed since the first of them fell asleep.
 *
 * @example
 * const waker = new Waker(100)
 * waker.watch('events.jsonl')
 * for (;;) if (!readMore()) await waker.sleep()
 */
export class Waker {
  readonly #pollMs: number
  readonly #watchers = new Set<fs.FSWatcher>()
  readonly #sleepers = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined
  #woken = false

  constructor(pollMs: number) {
    this.#pollMs = pollMs
  }

  /** Wakes when the file changes, or something in the folder. False if it cannot be watched. */
  watch(path: string): boolean {
    const watcher = watchPath(path, this.wake)
    if (watcher) this.#watchers.add(watcher)
    return watcher !== undefined
  }

  unwatch(): void {
    for (const watcher of this.#watchers) watcher.close()
    this.#watchers.clear()
  }

  /** Ends the sleep, or the next one if no loop is sleeping. */
  readonly wake = (): void => {
    this.#woken = this.#sleepers.size === 0
    for (const resume of [...this.#sleepers]) resume()
  }

  /** Also ends when the signal is aborted. */
  async sleep(signal?: AbortSignal, pollMs: number = this.#pollMs): Promise<void> {
    if (!this.#woken && !signal?.aborted)
      await new Promise<void>((resolve) => {
        const resume = () => {
          this.#sleepers.delete(resume)
          if (this.#sleepers.size === 0) {
            clearTimeout(this.#timer)
            this.#timer = undefined
          }
          signal?.removeEventListener('abort', resume)
          resolve()
        }
        this.#sleepers.add(resume)
        signal?.addEventListener('abort', resume)
        this.#timer ??= setTimeout(this.wake, pollMs)
      })
    this.#woken = false
  }

  close(): void {
    this.unwatch()
    this.wake()
  }
}
