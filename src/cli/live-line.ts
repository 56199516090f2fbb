/** Milliseconds without news after which the line is shown, and between two of its updates. */
const QUIET_MS = 150
const EVERY_MS = 1000

/** The line below what is drawn that says what goes on, written over by what comes next. */
export interface LiveLine {
  /** Puts text in its place: one write, so that nothing flickers. Without text it stays for now. */
  over(text: string): string
  /** Takes the line away for good. */
  stop(): void
}

/**
 * Shows a line while nothing else comes: only what lasts is worth a line, so a burst of events draws none. It must not be wider
 * than the terminal. Without `line`, nothing is ever shown.
 */
export function liveLine(write: (text: string) => void, line?: (time: number) => string): LiveLine {
  let timer: NodeJS.Timeout | undefined
  let shown = ''

  const show = () => {
    const next = line?.(Date.now()) ?? ''
    if (next !== shown) write(wiped() + next)
    shown = next
    // Only a line that is there can change by time alone.
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
