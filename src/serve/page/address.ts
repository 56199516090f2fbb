/** What the reader has set, by name: filters, a search, the order, the bytes. What is not set is missing. */
export type Query = Readonly<Record<string, string | undefined>>

/** Where the reader is: the list, or a run and perhaps one of its events. All of it is in the address. */
export interface Place {
  /** Undefined for the list. */
  readonly run?: string | undefined
  readonly event?: { readonly attempt: number; readonly seq: number } | undefined
  readonly query: Query
  /** What another file of the page shows: `changes/<id>`, or `compare/<id>/<id>`. */
  readonly beside?: string
}

/** `#run/<id>/<attempt>.<seq>?find=…`, or `#?find=…` for the list; the id is percent-encoded. */
export function addressOf({ run, event, query }: Place): string {
  const set = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) set.set(name, value)
  const text = set.size > 0 ? `?${set}` : ''
  if (run === undefined) return `#${text}`
  return `#run/${encodeURIComponent(run)}${event ? `/${event.attempt}.${event.seq}` : ''}${text}`
}

/** Reads an address; undefined for the target of a link of the page. Links of 0.1, `#<id>`, still work. */
export function readAddress(hash: string): Place | undefined {
  // The link that skips to the conversation.
  if (hash === '#conversation') return undefined
  const [path = '', text = ''] = cutAt(hash.slice(1), '?')
  const query = Object.fromEntries(new URLSearchParams(text))
  const [place = '', id = '', event = ''] = path.split('/')
  if (/^(changes|compare)\/./.test(path)) return { beside: path, query }
  try {
    if (place !== 'run') return { run: decodeURIComponent(path) || undefined, query }
    const match = /^(\d{1,9})\.(\d{1,15})$/.exec(event)
    return {
      run: decodeURIComponent(id) || undefined,
      event: match ? { attempt: Number(match[1]), seq: Number(match[2]) } : undefined,
      query,
    }
  } catch {
    return undefined
  }
}

function cutAt(text: string, sign: string): string[] {
  const at = text.indexOf(sign)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
