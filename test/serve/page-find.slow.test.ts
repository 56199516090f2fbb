import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { chromiumPath, needsBrowser } from './browser.ts'
import { NEEDLE, putLargeRun } from './large-run.ts'
import { over, pagesOfBrowser } from './opened-page.ts'
import { putRun, root, serving } from './serving.ts'

const chosen = (page: Page) => page.locator('article.chosen').getAttribute('data-id')
const lit = (page: Page): Promise<string> =>
  page.evaluate("[...document.querySelectorAll('#bytes mark')].map((mark) => mark.textContent).join('')")

describe.skipIf(!chromiumPath)(`finding things in a browser${needsBrowser}`, () => {
  const pages = pagesOfBrowser()

  test('the one failed command among 10,000 events: found, its bytes opened, its address copied and followed, by keys alone', async () => {
    const dir = root()
    const { failed } = putLargeRun(dir, 'long', 10_000)
    const { url } = await serving(dir)
    const page = await pages.open(url)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await over(page)
    // The bar is drawn a moment after the last event.
    await page.locator('#problems', { hasText: '1 problem' }).waitFor()
    // One key: what failed is open.
    await page.keyboard.press('p')
    const item = page.locator('article.chosen')
    await expect.poll(() => item.locator('.io').innerText()).toContain(NEEDLE)
    expect(await item.getAttribute('data-outcome')).toBe('failed')
    const id = await chosen(page)
    // Its bytes are those of the start and the end of the call.
    const log = readFileSync(join(dir, 'long', 'stdout.1.log'), 'utf8').split('\n')
    await page.keyboard.press('b')
    await expect.poll(() => lit(page)).toBe(`${log[failed - 2]}\n${log[failed - 1]}\n`)
    expect(await page.evaluate('document.activeElement.id')).toBe('bytes')
    await page.keyboard.press('b')
    await page.keyboard.press('y')
    await expect.poll(() => page.locator('#toast').innerText()).toContain('copied')
    const address = (await page.evaluate('navigator.clipboard.readText()')) as string
    expect(address).toBe(`${url}#run/long/${id}`)
    const other = await pages.open(address)
    await expect.poll(() => chosen(other)).toBe(id)
    await expect.poll(() => other.locator('article.chosen').isVisible()).toBe(true)
    await other.keyboard.press('b')
    await expect.poll(() => lit(other)).toContain(NEEDLE)
    // The address of the event that told the failure leads to the same call.
    await other.keyboard.press('j')
    await expect.poll(() => chosen(other)).not.toBe(id)
    await other.goto(`${url}#run/long/1.${failed}`)
    await expect.poll(() => chosen(other)).toBe(id)
    expect(await other.locator('article').count()).toBeLessThan(200)
  })

  test('scrolling never shows a gap, slow or fast, up or down', async () => {
    const dir = root()
    putLargeRun(dir, 'long', 2000)
    const { url } = await serving(dir)
    const page = await pages.open(url)
    await over(page)
    for (const step of [40, 900, -40, -5000]) {
      // In each frame: whether items fill the box from its upper to its lower edge.
      const gaps = await page.evaluate(`(async () => {
        const box = document.getElementById('conversation')
        const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
        box.scrollTop = ${step} < 0 ? 1e9 : 0
        await frame()
        let gaps = 0
        for (let i = 0; i < 60; i++) {
          box.scrollTop += ${step}
          await frame()
          const view = box.getBoundingClientRect()
          const items = [...box.querySelectorAll('article')].map((item) => item.getBoundingClientRect())
          const end = box.scrollTop + box.clientHeight > box.scrollHeight - 100
          if (items[0].top > view.top + 1 || !(end || items.at(-1).bottom >= view.bottom - 1)) gaps++
        }
        return gaps
      })()`)
      expect(gaps, `${step} pixels a frame`).toBe(0)
    }
    // All unfolded, and folded again: heights are another than estimated.
    for (const key of 'ff') {
      await page.keyboard.press(key)
      const room = await page.evaluate(`(() => {
        const box = document.getElementById('conversation')
        const last = [...box.querySelectorAll('article')].at(-1)
        return last.getBoundingClientRect().bottom - box.getBoundingClientRect().bottom
      })()`)
      expect(room).toBeGreaterThan(0)
    }
  })

  test('100,000 events scroll frame by frame, and most of them are not in the document', {
    timeout: 120_000,
  }, async () => {
    const dir = root()
    putLargeRun(dir, 'long', 100_000)
    const { url } = await serving(dir)
    const page = await pages.open(url)
    await page.waitForSelector('#conversation[data-over=true]', { timeout: 90_000 })
    const frames = (await page.evaluate(`(async () => {
      const box = document.getElementById('conversation')
      const frame = () => new Promise((done) => requestAnimationFrame(done))
      const times = []
      for (let i = 0, last = await frame(); i < 200; i++) {
        box.scrollTop += 40
        const now = await frame()
        times.push(now - last)
        last = now
      }
      return times
    })()`)) as number[]
    // 16.7 ms is a frame; every second one may be missed on a busy machine.
    expect(frames.sort((a, b) => a - b)[100]).toBeLessThan(34)
    expect(await page.locator('article').count()).toBeLessThan(200)
    await page.keyboard.press('G')
    expect(await page.locator('article.chosen').getAttribute('data-kind')).toBe('end')
    await page.keyboard.press('p')
    await expect.poll(() => page.locator('article.chosen .io').innerText()).toContain(NEEDLE)
  })

  test('text is found wherever it is, all hits are listed, and n and N walk them', async () => {
    const dir = root()
    putLargeRun(dir, 'long', 2000)
    const { url } = await serving(dir)
    const page = await pages.open(url)
    await over(page)
    await page.keyboard.press('/')
    await page.keyboard.type('PART-12')
    const count = page.locator('#hits-count')
    await expect.poll(() => count.getAttribute('data-done')).toBe('true')
    // In the input of tools, in messages and in paths of files; the case does not matter.
    await expect.poll(() => count.innerText()).toMatch(/^\d+ hits$/)
    const total = Number((await count.innerText()).split(' ')[0])
    expect(total).toBeGreaterThan(10)
    await page.keyboard.press('Enter')
    const first = await chosen(page)
    expect(await count.innerText()).toBe(`1 of ${total} hits`)
    await page.keyboard.press('n')
    expect(await count.innerText()).toBe(`2 of ${total} hits`)
    expect(await chosen(page)).not.toBe(first)
    await page.keyboard.press('N')
    expect(await chosen(page)).toBe(first)
    await page.keyboard.press('N')
    expect(await count.innerText()).toBe(`${total} of ${total} hits`)
    expect(await page.locator('.hit[aria-selected=true]').count()).toBe(1)
  })

  test('filters show only what is asked for, and notes of the parser only then', async () => {
    const dir = root()
    putLargeRun(dir, 'long', 300)
    const { url } = await serving(dir)
    const page = await pages.open(url)
    await over(page)
    const kinds = async () =>
      new Set(
        (await page.evaluate(
          "[...document.querySelectorAll('article')].map((one) => one.dataset.kind)",
        )) as string[],
      )
    await page.keyboard.press('2')
    expect(await kinds()).toEqual(new Set(['tool']))
    await page.keyboard.press('4')
    expect(await kinds()).toEqual(new Set(['tool', 'artifact']))
    await page.keyboard.press('0')
    await page.keyboard.press('3')
    expect(await page.locator('article').count()).toBe(1)
    expect(await page.locator('[data-filter=failed]').getAttribute('aria-pressed')).toBe('true')
    expect(await page.locator('article .io').innerText()).toContain(NEEDLE)
  })

  test('back and forward go where the reader was', async () => {
    const dir = root()
    putLargeRun(dir, 'long', 500)
    putRun(dir, 'short', 5)
    const { url } = await serving(dir)
    const page = await pages.open(url, '#run/long/1.3')
    await expect.poll(() => chosen(page)).toBe('1.3')
    await page.keyboard.press('p')
    const problem = await chosen(page)
    expect(problem).not.toBe('1.3')
    await page.goBack()
    await expect.poll(() => chosen(page)).toBe('1.3')
    await page.goForward()
    await expect.poll(() => chosen(page)).toBe(problem)
    await page.keyboard.press('r')
    await page.locator('#runs a[data-id=short]').click()
    await expect.poll(() => page.locator('#facts').getAttribute('data-events')).toBe('5')
    await page.goBack()
    await expect.poll(() => page.locator('#list').isVisible()).toBe(true)
    await page.goBack()
    await expect.poll(() => chosen(page)).toBe(problem)
  })

  test('an empty directory says what to do, and a finished run never says that it reconnects', async () => {
    const empty = await serving(root())
    const page = await pages.open(empty.url)
    await expect.poll(() => page.locator('#none').innerText()).toContain('npx agent-sluice run')
    const dir = root()
    putRun(dir, 'r', 3)
    const { url } = await serving(dir)
    const finished = await pages.bare()
    await finished.addInitScript(`
      window.said = new Set()
      addEventListener('DOMContentLoaded', () => {
        const link = document.getElementById('link')
        new MutationObserver(() => window.said.add(link.textContent)).observe(link, { childList: true })
      })`)
    await finished.goto(url)
    await over(finished)
    const said = (await finished.evaluate('[...window.said]')) as string[]
    expect(said.join(' ')).not.toMatch(/reconnect|live/)
    expect(await finished.locator('#link').innerText()).toBe('')
  })
})
