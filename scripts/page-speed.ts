// Measures the page of `sluice serve` on a long run: npx tsx scripts/page-speed.ts [events] (default:
// 100,000). Chromium's own tracing says which frames were drawn and which were late. Prints a table for
// docs/serve.md.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv } from 'node:process'
import type { CDPSession, Page } from 'playwright-core'
import { serve } from '../src/serve/serve.ts'
import { launch } from '../test/serve/browser.ts'
import { putLargeRun } from '../test/serve/large-run.ts'

const count = Number(argv[2] ?? 100_000)
const SCROLL_SECONDS = 6
const ROUNDS = 5
/** Pixels a second: reading quickly, and leafing through a run. */
const SPEEDS = [3000, 8000]
const load = loadavg()[0]!
const dir = mkdtempSync(join(tmpdir(), 'sluice-speed-'))
putLargeRun(dir, 'long', count)
const server = await serve({ dir, port: 0 })
const browser = await launch()
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
await page.addInitScript(`
  new MutationObserver((_, watch) => {
    if (!document.querySelector('article')) return
    watch.disconnect()
    requestAnimationFrame(() => requestAnimationFrame(() => { window.firstContent = performance.now() }))
  }).observe(document, { childList: true, subtree: true })`)
await page.goto(`${server.url}#run/long`)
await page.waitForSelector('#conversation[data-over=true]', { timeout: 120_000 })
const all = await now(page)
const first = (await page.evaluate('window.firstContent')) as number
const shown = Number(await page.locator('#facts').getAttribute('data-events'))
if (shown !== count) throw new Error(`the page has ${shown} events of ${count}`)

const session = await page.context().newCDPSession(page)
const before = await heap(session)
const scrolls: string[] = []
for (const speed of SPEEDS) {
  const rounds = await traced(page, () => scroll(session, speed))
  scrolls.push(`| frames at ${speed.toLocaleString('en')} pixels a second | ${frames(rounds)} |
| time on the processor for a frame | ${range(rounds.map(({ work }) => work))} ms, ${range(rounds.map(({ longest }) => longest))} ms at most in one task |`)
}
const elements = await page.evaluate("document.querySelectorAll('#conversation *').length")
// From one end to the other, a hundred times: elements that are out of view must be released.
for (let i = 0; i < 100; i++) {
  await page.evaluate(
    `document.getElementById('conversation').scrollTop = ${i % 2 ? 0 : 1e9} * ${Math.random()}`,
  )
  await page.evaluate('new Promise((done) => requestAnimationFrame(done))')
}
const after = await heap(session)

await page.keyboard.press('p')
const began = await now(page)
await page.keyboard.press('/')
await page.keyboard.type('across a change')
await page.waitForSelector('#hits-count[data-done=true]:has-text("1 hit")', { state: 'attached' })
const found = (await now(page)) - began

// What this machine can draw at all: the same scrolling over 5,000 paragraphs without any script.
await page.goto('about:blank')
await page.setContent(
  `<main style="height: 100vh; overflow: auto">${'<p>A line of plain text.</p>'.repeat(5000)}</main>`,
)
const plain = await traced(page, () => scroll(session, SPEEDS[0]!))

console.log(`| ${count.toLocaleString('en')} events, ${mb(statSync(join(dir, 'long/events.jsonl')).size)} of journal | |
| --- | --- |
| first content | ${(first / 1000).toFixed(2)} s |
| all events read | ${(all / 1000).toFixed(2)} s |
${scrolls.join('\n')}
| elements in the conversation | ${elements} |
| memory of the script | ${mb(before)} before, ${mb(after)} after 100 jumps |
| text found in all of it | ${(found / 1000).toFixed(2)} s from the key |
| frames of a page of plain text, for comparison | ${frames(plain)} |`)
console.log(
  `\nload ${load.toFixed(1)} on ${cpus().length} cores of ${cpus()[0]?.model}, Chromium ${browser.version()}`,
)
await browser.close()
await server.close()
rmSync(dir, { recursive: true })

function now(page: Page): Promise<number> {
  return page.evaluate('performance.now()')
}

async function heap(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage')
  return (await session.send('Runtime.getHeapUsage')).usedSize
}

/**
 * Scrolls as a mouse wheel would, inside Chromium: wheel events sent one by one from here would set the pace
 * of the frames.
 */
async function scroll(session: CDPSession, speed: number): Promise<void> {
  await session.send('Input.synthesizeScrollGesture', {
    x: 560,
    y: 600,
    yDistance: -speed * SCROLL_SECONDS,
    speed,
    gestureSourceType: 'mouse',
  })
}

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly ts: number
  readonly dur?: number
  /** CPU time in microseconds, without what other programs used. */
  readonly tdur?: number
  readonly args?: { readonly name?: string }
  readonly pid: number
  readonly tid: number
}

/**
 * Several rounds of an action, because a shared machine is not equally quick in all: the frames that reached
 * the screen and the work of the page's thread.
 */
async function traced(page: Page, act: () => Promise<void>) {
  const trace = join(dir, 'trace.json')
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    await page.evaluate("document.querySelector('#conversation, main').scrollTop = 0")
    await browser.startTracing(page, {
      path: trace,
      categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline.frame', 'cc', 'toplevel'],
    })
    const before = coreTime()
    await act()
    const after = coreTime()
    await browser.stopTracing()
    // Cast: Chromium's own format.
    const { traceEvents } = JSON.parse(readFileSync(trace, 'utf8')) as { traceEvents: TraceEvent[] }
    const stolen = (100 * (after.stolen - before.stolen)) / (after.all - before.all)
    rounds.push({ ...figures(traceEvents), stolen })
  }
  return rounds
}

function figures(traceEvents: readonly TraceEvent[]) {
  const drawn = traceEvents.filter(({ name }) => name === 'DrawFrame').map(({ ts }) => ts / 1000)
  drawn.sort((a, b) => a - b)
  const gaps = drawn.slice(1).map((at, i) => at - drawn[i]!)
  const threads = traceEvents.filter(
    ({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain',
  )
  const main = new Set(threads.map(({ pid, tid }) => `${pid} ${tid}`))
  const tasks = traceEvents
    .filter(({ name, pid, tid }) => name.endsWith('RunTask') && main.has(`${pid} ${tid}`))
    .map(({ tdur = 0 }) => tdur / 1000)
  const span = (drawn.at(-1) ?? 0) - (drawn[0] ?? 0)
  return {
    rate: span > 0 ? ((drawn.length - 1) / span) * 1000 : 0,
    late: (gaps.filter((gap) => gap > 25).length / Math.max(1, gaps.length)) * 100,
    work: tasks.reduce((sum, task) => sum + task, 0) / Math.max(1, drawn.length),
    longest: tasks.reduce((most, task) => Math.max(most, task), 0),
  }
}

interface Round {
  readonly rate: number
  readonly late: number
  readonly stolen: number
}

function frames(rounds: readonly Round[]): string {
  const [rates, late, stolen] = (['rate', 'late', 'stolen'] as const).map((of) =>
    range(rounds.map((round) => round[of])),
  )
  return `${rates} a second, ${late} % later than 25 ms, while the host took ${stolen} % of the time away`
}

/** What the cores of a virtual machine have had, and what its host took away from them, in units of Linux. */
function coreTime() {
  const [, ...times] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.split(/\s+/)
  const all = times.slice(0, 8).map(Number)
  return { stolen: all[7]!, all: all.reduce((sum, time) => sum + time, 0) }
}

/** The lowest and the highest of the rounds. */
function range(values: readonly number[]): string {
  return `${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)}`
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
