/** The target of an address after `#`: a run, and perhaps one of its events. */
export interface Address {
  readonly run: string
  readonly event?: { readonly attempt: number; readonly seq: number } | undefined
}

/** `#run/<id>/<attempt>.<seq>`; the id is percent-encoded. */
export function addressOf(run: string, event?: { readonly attempt: number; readonly seq: number }): string {
  return `#run/${encodeURIComponent(run)}${event ? `/${event.attempt}.${event.seq}` : ''}`
}

/** Reads an address; undefined if it names no run. Links of 0.1, `#<id>` alone, still work. */
export function readAddress(hash: string): Address | undefined {
  const [place = '', id = '', event = ''] = hash.slice(1).split('/')
  try {
    if (place !== 'run') {
      const run = decodeURIComponent(hash.slice(1))
      // The target of the link that skips to the conversation is no run.
      return run === '' || hash === '#conversation' ? undefined : { run }
    }
    if (id === '') return undefined
    const match = /^(\d{1,9})\.(\d{1,15})$/.exec(event)
    return {
      run: decodeURIComponent(id),
      event: match ? { attempt: Number(match[1]), seq: Number(match[2]) } : undefined,
    }
  } catch {
    return undefined
  }
}
