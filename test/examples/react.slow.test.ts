import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { takeLock } from '../../src/disk/lock.ts'
import { chromiumPath, launch, needsBrowser } from '../serve/browser.ts'
import { root } from '../serve/serving.ts'
import { ends, makeRun } from '../views/make-run.ts'

const folder = fileURLToPath(new URL('../../examples/', import.meta.url))

describe.skipIf(!chromiumPath)(`in a browser${needsBrowser}`, () => {
  const dir = root()
  let browser: Browser
  let server: Awaited<ReturnType<typeof startServer>>
  beforeAll(async () => {
    browser = await launch()
    server = await startServer(dir)
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    server?.close()
  })

  test.each(['ai-sdk', 'ag-ui'])('the page %s follows a run, also when its line is cut', async (name) => {
    const events = makeRun([
      ['agent.message.delta', { message_id: 'm', text: 'one ' }],
      ['agent.message.delta', { message_id: 'm', text: 'two ' }],
      ['agent.message.final', { message_id: 'm', text: 'one two three' }],
      ['tool.call.started', { call_id: 'c', name: 'sh', input: { cmd: 'ls' } }],
      ['tool.call.completed', { call_id: 'c', name: 'sh', output: 'a.txt' }],
      ['agent.message.final', { message_id: 'n', text: '<b>done</b>' }],
      ends.well,
    ])
    mkdirSync(join(dir, name))
    const journal = join(dir, name, 'events.jsonl')
    const lines = events.map((event) => `${JSON.stringify(event)}\n`)
    writeFileSync(journal, lines[0]!)
    const lock = takeLock(join(dir, name, 'journal.lock'))
    const page = await browser.newPage()
    await page.goto(`${server.url}${name}?run=${name}`)
    await page.getByText('one').waitFor()
    server.cut()
    appendFileSync(journal, lines[1]!)
    await page.getByText('one two').waitFor()
    for (const line of lines.slice(2, 5)) appendFileSync(journal, line)
    await page.getByText('a.txt').waitFor()
    server.cut()
    for (const line of lines.slice(5)) appendFileSync(journal, line)
    lock.release()
    await page.getByText('ready').waitFor()
    expect(await page.locator('p').allTextContents()).toEqual(['one two three', '<b>done</b>'])
    expect((await page.locator('pre').allTextContents()).join(' ')).toMatch(
      /^sh \{"cmd":"ls"\} → "?a\.txt"?$/,
    )
    await page.close()
  })
})

/** The server of the example, behind a line that can be cut. */
async function startServer(dir: string) {
  // There, the name of the package leads to the sources: no build is needed.
  const env = { ...process.env, TSX_TSCONFIG_PATH: join(folder, 'react/tsconfig.json') }
  const words = ['--import', 'tsx', join(folder, 'react/server.ts'), dir, '0']
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  for await (const text of child.stdout.setEncoding('utf8')) {
    said += text
    if (said.includes('\n')) break
  }
  const port = Number(/:(\d+)\//.exec(said)?.[1])
  const sockets = new Set<Socket>()
  const proxy = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening))
  const address = proxy.address()
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`,
    cut,
    close() {
      cut()
      proxy.close()
      child.kill()
    },
  }
}
