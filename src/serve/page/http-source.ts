import type { Event } from '../../events/event.ts'
import type { RunInfo } from '../run-info.ts'
import { type EventReader, type OpenRun, pause, type Source } from './source.ts'
import { sseReader } from './sse-reader.ts'

/** Milliseconds until the page tries an unreachable server again. */
const RETRY_MS = 1000
/** Milliseconds of reading after which the page gets a turn: less than one frame. */
const SLICE_MS = 10

/** The runs of the server that the page came from. */
export function httpSource(): Source {
  let tag = ''
  let away = false
  return {
    live: true,
    get away() {
      return away
    },
    async runs() {
      try {
        const response = await fetch('runs', { headers: { 'if-none-match': tag } })
        away = false
        // The session ended: the server shows its login page.
        if (response.status === 401) location.reload()
        if (response.ok) tag = response.headers.get('etag') ?? ''
        // Cast: the server is ours, and its response has this shape.
        return response.ok ? ((await response.json()) as RunInfo[]) : undefined
      } catch {
        away = true
        return undefined
      }
    },
    open: openRun,
    fileOf: (id) => `${pathOf(id)}/export.html`,
    async bytes(id, { attempt, stream, from, to }) {
      const query = `attempt=${attempt}&from=${from}&to=${to}`
      try {
        const response = await fetch(`${pathOf(id)}/raw/${stream}?${query}`)
        const total = Number(response.headers.get('x-total-bytes'))
        const bytes = response.ok ? new Uint8Array(await response.arrayBuffer()) : new Uint8Array(0)
        return { bytes, total }
      } catch {
        return undefined
      }
    },
  }
}

function pathOf(id: string): string {
  return `runs/${encodeURIComponent(id)}`
}

function openRun(id: string, reader: EventReader): OpenRun {
  let lastId = ''
  let leave: AbortController | undefined

  async function connect(): Promise<void> {
    leave = new AbortController()
    const { signal } = leave
    reader.connection('connecting')
    while (!signal.aborted) {
      try {
        if (!(await readOnce(signal))) continue
        leave = undefined
        if (!signal.aborted) reader.connection('over')
        return
      } catch {
        if (signal.aborted) return
        reader.connection('away')
        await new Promise((done) => setTimeout(done, RETRY_MS))
      }
    }
  }

  /** True when nothing more will come. */
  async function readOnce(signal: AbortSignal): Promise<boolean> {
    const after = lastId === '' ? '' : `?after=${encodeURIComponent(lastId)}`
    const response = await fetch(`${pathOf(id)}/events${after}`, { signal })
    // 204: all of it was sent. 404: it is gone; what was read stays on the page.
    if (response.status === 204 || response.status === 404) return true
    if (!response.ok || !response.body) throw new Error(`the server answered ${response.status}`)
    reader.connection('live')
    let count = 0
    let faulted = false
    let events: Event[] = []
    const hand = () => {
      if (events.length === 0) return
      reader.take(events)
      count += events.length
      events = []
    }
    const read = sseReader((message) => {
      if (message.event === 'sluice.fault') {
        hand()
        faulted = true
        // Cast: the server is ours, and writes this format.
        const { code, message: why } = JSON.parse(message.data) as { code: string; message: string }
        reader.fault(code, why)
      } else if (message.event === 'sluice.reset') {
        events = []
        lastId = ''
        reader.reset()
      } else {
        // Cast: any other message of our server is an event.
        events.push(JSON.parse(message.data) as Event)
        lastId = message.id
      }
    })
    const decoder = new TextDecoder()
    const body = response.body.getReader()
    let since = performance.now()
    for (;;) {
      const { done, value } = await body.read()
      if (signal.aborted) return true
      if (done) break
      read(decoder.decode(value, { stream: true }))
      hand()
      if (faulted) {
        body.cancel().catch(() => {})
        return true
      }
      if (performance.now() - since > SLICE_MS) {
        await pause()
        if (signal.aborted) return true
        since = performance.now()
      }
    }
    // A stream that ended without an event has no id to resume with, and another request would return the
    // same.
    return count === 0
  }

  connect()
  return {
    resume() {
      if (!leave) connect()
    },
    close() {
      leave?.abort()
    },
  }
}
