/** Milliseconds without output after which the line is shown, and between two of its updates. */
const QUIET_MS = 150
const EVERY_MS = 1000

/** A line below the drawn output that shows the current activity, overwritten by what comes next. */
export interface LiveLine {
  /** Replaces the line with text: one write, so that nothing flickers. Without text the line stays. */
  over(text: string): string
  /** Removes the line for good. */
  stop(): void
}

/**
 * Shows a line during pauses in the output: a burst of events shows none. It must not be wider
 * than the terminal. Without `line`, nothing is ever shown.
 */
export function liveLine(write: (text: string) => void, line?: (time: number) => string): LiveLine {
  let timer: NodeJS.Timeout | undefined
  let shown = ''

  const show = () => {
    const next = line?.(Date.now()) ?? ''
    if (next !== shown) write(wiped() + next)
    shown = next
    // Only a visible line can change by time alone.
    timer = next === '' ? undefined : setTimeout(show, EVERY_MS).unref()
  }
  const wiped = () => (shown === '' ? '' : '\r\u001b[K')

  return {
    over(text) {
      if (!line) return text
      clearTimeout(timer)
      timer = setTimeout(show, QUIET_MS).unref()
      if (text === '') return ''
      const before = wiped()
      shown = ''
      return before + text
    },
    stop() {
      clearTimeout(timer)
      if (shown !== '') write(wiped())
      shown = ''
    },
  }
}
