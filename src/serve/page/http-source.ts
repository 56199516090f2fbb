import type { AgentEvent } from '../../events/event.ts'
import { compareRuns, type RunInfo } from '../run-info.ts'
import { type EventReader, type OpenRun, pause, type RunSource, type Sent, type TakeRuns } from './source.ts'
import { sseReader } from './sse-reader.ts'

/** Milliseconds until the page tries an unreachable server again. */
const RETRY_MS = 1000
/** Milliseconds of reading after which the page gets a turn: less than one frame. */
const SLICE_MS = 10

/** Where the server has this script, relative to the page: with a slash at its end, or empty. */
const top = document.currentScript?.getAttribute('src')?.replace(/page\.js$/, '') ?? ''

/** The runs of the server that the page came from. */
export function httpSource(): RunSource {
  return {
    live: true,
    runs: runLister(),
    open: openRun,
    order: (id, order) => post(`${pathOf(id)}/control`, order),
    reply: (id, text) => post(`${pathOf(id)}/reply`, { text }),
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

async function post(path: string, body: object): Promise<Sent> {
  try {
    const response = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) return { why: text.trim() || `the server answered ${response.status}` }
    return JSON.parse(text) as Sent // cast: the server is ours
  } catch {
    return { why: 'the server does not answer' }
  }
}

function openRun(id: string, reader: EventReader, as = ''): OpenRun {
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
        await pause(RETRY_MS)
      }
    }
  }

  /** True when nothing more will come. */
  async function readOnce(signal: AbortSignal): Promise<boolean> {
    const query = new URLSearchParams({ ...(lastId && { after: lastId }), ...(as && { engine: as }) })
    const response = await fetch(`${pathOf(id)}/events?${query}`, { signal })
    // 204: all of it was sent. 404: it is gone; what was read stays on the page.
    if (response.status === 204 || response.status === 404) return true
    if (!response.ok || !response.body) throw new Error(`the server answered ${response.status}`)
    reader.connection('live')
    let count = 0
    let faulted = false
    let events: AgentEvent[] = []
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
        events.push(JSON.parse(message.data) as AgentEvent)
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
    // Without an event there is no id to resume with, and another request would return the same.
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

/** Runs in the first page of the list, which are more than a screen shows, and in the others. */
const FIRST = 100
const OTHERS = 2000

/** Reads the list page by page, the newest first, then what has changed; one call at a time. */
function runLister(): RunSource['runs'] {
  let known = new Map<string, RunInfo>()
  /** The version of the first page; what changed since is in the answer to the first question for changes. */
  let version: string | undefined
  /** Where the next page begins; undefined if all were read. */
  let after: string | undefined
  let reading = false
  let older = 0

  /** The next page, or what has changed. False if nothing has, or it is not available now. */
  const step = async (): Promise<boolean> => {
    const isPage = version === undefined || after !== undefined
    const place = after === undefined ? '' : `&after=${encodeURIComponent(after)}`
    const query = isPage ? `limit=${after === undefined ? FIRST : OTHERS}${place}` : `since=${version}`
    const headers = isPage ? {} : { 'if-none-match': `"${version}"` }
    const response = await fetch(`${top}runs?${query}`, { headers })
    // The session ended: the server shows its login page.
    if (response.status === 401) location.reload()
    if (response.status === 410) {
      // The server was started again, or forgot what is gone.
      known = new Map()
      version = after = undefined
      return await step()
    }
    if (!response.ok) return false
    const tag = response.headers.get('etag')?.slice(1, -1)
    older = Number.parseInt(response.headers.get('x-older-runs') ?? '0', 10)
    // Casts: the server is ours, and its responses have these shapes.
    if (isPage) {
      const runs = (await response.json()) as RunInfo[]
      for (const run of runs) known.set(run.id, run)
      version ??= tag
      after = response.headers.has('link') ? (runs.at(-1)?.id ?? after) : undefined
    } else {
      const { runs, gone } = (await response.json()) as { runs: RunInfo[]; gone: string[] }
      for (const id of gone) known.delete(id)
      for (const run of runs) known.set(run.id, run)
      version = tag
    }
    return true
  }
  /** The run in the address, which may be far down in the list. */
  const readOne = async (id: string): Promise<void> => {
    const response = await fetch(pathOf(id))
    if (response.ok) known.set(id, (await response.json()) as RunInfo) // cast: the server is ours
  }
  /** The other pages, and what the server found before them meanwhile. */
  const readOthers = async (take: TakeRuns): Promise<void> => {
    for (let more = after !== undefined; more; ) {
      more = after !== undefined
      if (!(await step())) return
      take(inOrder(), older)
    }
  }
  const inOrder = () => [...known.values()].sort(compareRuns)

  return async (take, wanted) => {
    if (reading) return true
    reading = true
    try {
      const one = version === undefined && wanted !== undefined ? readOne(wanted) : undefined
      const [changed] = await Promise.all([step(), one])
      if (changed) take(inOrder(), older)
      readOthers(take)
        .catch(() => {})
        .finally(() => {
          reading = false
        })
      return true
    } catch {
      // The server cannot be reached now.
      reading = false
      return false
    }
  }
}

/** The address of a run on the server. */
function pathOf(id: string): string {
  return `${top}runs/${encodeURIComponent(id)}`
}
