import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'tsup'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { webBuild } from '../../scripts/web-build.ts'
import { readInNode, stdoutLogs } from '../engines/stdout-logs.ts'
import { chromiumPath, launch, needsBrowser } from '../serve/browser.ts'

/** The page's own program: it fetches a log and reads it through the doors for Web Streams. */
const program = `
import { auto, chat, events } from '/web.js'
window.read = async (log) => {
  const response = await fetch(log)
  const records = response.body.pipeThrough(events(auto, { clock: () => 0 })).pipeThrough(chat())
  let text = ''
  const reader = records.getReader()
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) text += JSON.stringify(value) + '\\n'
  return text
}`

describe.skipIf(!chromiumPath)(`the entry for the Web, in a browser${needsBrowser}`, () => {
  const all = stdoutLogs()
  let folder: string
  let browser: Awaited<ReturnType<typeof launch>>
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://x')
    if (pathname === '/web.js') {
      response.setHeader('content-type', 'text/javascript')
      response.end(readFileSync(join(folder, 'web.js')))
    } else if (pathname.startsWith('/log/')) response.end(all[Number(pathname.slice(5))]!.logs[0]!.bytes)
    else {
      response.setHeader('content-type', 'text/html')
      response.end(`<!doctype html><script type="module">${program}</script>`)
    }
  })

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'web-'))
    await build({ ...webBuild, outDir: folder, config: false, silent: true, dts: false })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    browser = await launch()
  }, 120_000)
  afterAll(async () => {
    await browser?.close()
    server.close()
  })

  test('has nothing of Node in it', () => {
    const code = readFileSync(join(folder, 'web.js'), 'utf8')
    expect(code).not.toMatch(/from\s*["'](?:node:|ajv|@)/)
  })

  test('reads every recorded stdout as Node does', async () => {
    const { port } = server.address() as AddressInfo
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${port}/`)
    await page.waitForFunction('window.read')
    for (const [n, fixture] of all.entries()) {
      const inBrowser = await page.evaluate(`window.read('/log/${n}')`)
      expect([fixture.engine, fixture.name, inBrowser === readInNode(fixture)]).toEqual([
        fixture.engine,
        fixture.name,
        true,
      ])
    }
  })
})
