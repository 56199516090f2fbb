import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { makeRun } from '../views/make-run.ts'
import { chromiumPath, needsBrowser } from './browser.ts'
import { putLargeRun } from './large-run.ts'
import { over, pagesOfBrowser } from './opened-page.ts'
import { root, serving } from './serving.ts'

const call = (id: string, command: string) =>
  ({ call_id: id, name: 'command_execution', kind: 'execute', input: { command } }) as const

/** A run whose events come so many seconds after its start. */
function putTimed(dir: string, name: string, seconds: readonly number[]): void {
  const path = join(dir, name)
  mkdirSync(path)
  const events = makeRun([
    ['user.message', { text: 'Mend the clock' }],
    ['lifecycle.run.status', { status: 'turn_started' }],
    ['agent.message.final', { message_id: 'm', text: 'I look.' }],
    ['tool.call.started', call('a', 'npm test')],
    ['tool.call.failed', { ...call('a', 'npm test'), exit_code: 1, output: 'no' }],
    ['agent.message.final', { message_id: 'n', text: 'Mended.' }],
  ])
  const begin = Date.UTC(2026, 10, 16, 10)
  const lines = events.map((event, at) => {
    const ts = new Date(begin + seconds[at]! * 1000).toISOString()
    return `${JSON.stringify({ ...event, ts })}\n`
  })
  writeFileSync(join(path, 'events.jsonl'), lines.join(''))
  writeFileSync(join(path, 'stdout.1.log'), '')
  writeFileSync(join(path, 'meta.1.json'), JSON.stringify({ engine: 'codex', task: 'Mend the clock' }))
}

const times = (page: Page) => page.locator('article > .seq').allInnerTexts()
const gaps = (page: Page) => page.locator('.gap').allInnerTexts()
const tasks = (page: Page) => page.locator('#runs a').allInnerTexts()
const height = (page: Page, id: string) =>
  page.evaluate(`document.getElementById('${id}').getBoundingClientRect().height`) as Promise<number>

describe.skipIf(!chromiumPath)(`times, and the place in the address${needsBrowser}`, () => {
  const pages = pagesOfBrowser()

  test('every item has its time since the start, and what was lost before it; the time line has an axis', async () => {
    const dir = root()
    // The step after 100 seconds is hidden: what was lost before it is told by what comes next.
    putTimed(dir, 'run', [0, 100, 130, 131, 3730, 3731])
    putLargeRun(dir, 'other', 20)
    const { url } = await serving(dir)
    const page = await pages.open(url, '#run/run', { viewport: { width: 1300, height: 900 } })
    await over(page)
    expect(await times(page)).toEqual(['0:00', '2:10', '2:11', '1:02:11'])
    expect(await gaps(page)).toEqual(['2 min 10 s without an event'])
    const call = page.locator('article').nth(2)
    expect(await call.locator('.how').innerText()).toContain('59 min 59 s')
    expect(await call.locator('.seq').getAttribute('title')).toContain('2026')
    expect(await call.getAttribute('title')).toContain('2026-11-16T10:02:11.000Z')
    expect(await call.getAttribute('aria-label')).toMatch(/ at 2:11$/)
    expect(await page.locator('.axis span').allInnerTexts()).toEqual([
      '0:00',
      '15:32',
      '31:05',
      '46:38',
      '1:02:11',
    ])
    expect(await page.locator('.legend span').allInnerTexts()).toEqual(['messages', 'problems', 'other'])
  })

  test.each([
    ['on a phone', 390, 780, 600],
    ['at twice the size', 640, 400, 270],
  ])('the head scrolls away %s, and what is read stays where it is', async (_, width, tall, least) => {
    const dir = root()
    putLargeRun(dir, 'long', 300)
    const { url } = await serving(dir)
    const page = await pages.open(url, '#run/long', { viewport: { width, height: tall } })
    await over(page)
    const scroll = async (by: number) => {
      await page.mouse.move(200, tall - 60)
      await page.mouse.wheel(0, by)
    }
    await scroll(tall)
    await expect.poll(() => height(page, 'head')).toBeLessThan(50)
    expect(await height(page, 'conversation')).toBeGreaterThan(least)
    expect(await page.locator('#task').isVisible()).toBe(true)
    // It comes back by a button, by the key of the search, and at the start.
    await page.getByRole('button', { name: 'Show the head' }).click()
    const whole = await height(page, 'head')
    expect(whole).toBeGreaterThan(100)
    await page.locator('#conversation').focus()
    await scroll(300)
    await expect.poll(() => height(page, 'head')).toBeLessThan(50)
    await page.keyboard.press('/')
    expect(await page.evaluate('document.activeElement.id')).toBe('seek')
    await page.locator('#conversation').focus()
    await scroll(300)
    await expect.poll(() => height(page, 'head')).toBeLessThan(50)
    await page.evaluate("document.getElementById('conversation').scrollTop = 0")
    await expect.poll(() => height(page, 'head')).toBe(whole)
  })

  test('what is read does not move when the head goes', async () => {
    const dir = root()
    putLargeRun(dir, 'long', 300)
    const { url } = await serving(dir)
    const page = await pages.open(url, '#run/long', { viewport: { width: 390, height: 780 } })
    await over(page)
    const moved = (await page.evaluate(`new Promise((done) => {
      const box = document.getElementById('conversation')
      const head = document.getElementById('head')
      const seen = () => [...box.querySelectorAll('article')].find((one) => one.getBoundingClientRect().top > 400)
      box.scrollTop = head.offsetHeight - 10
      requestAnimationFrame(() => requestAnimationFrame(() => {
        const one = seen()
        const before = one.getBoundingClientRect().top
        // The scroll before may still be told.
        box.addEventListener('scroll', () => setTimeout(() => {
          if (head.classList.contains('away')) done(one.getBoundingClientRect().top - before)
        }))
        box.scrollTop += 30
      }))
    })`)) as number
    // By what was scrolled, and no more.
    expect(Math.abs(moved + 30)).toBeLessThan(2)
  })

  test('the list is left, reloaded and found again as it was: search, outcomes, order', async () => {
    const dir = root()
    for (const name of ['one', 'two', 'three']) putLargeRun(dir, name, 20)
    putTimed(dir, 'timed', [0, 1, 2, 3, 4, 5])
    const { url } = await serving(dir)
    const page = await pages.open(url)
    await expect.poll(() => tasks(page)).toHaveLength(4)
    await page.locator('#find').fill('clock')
    await page.locator('#outcomes button', { hasText: 'succeeded' }).click()
    await page.getByRole('columnheader', { name: 'Task' }).getByRole('button').click()
    const sorted = await tasks(page)
    expect(sorted).toHaveLength(3)
    expect(new URL(page.url()).hash).toBe('#?find=clock&outcome=succeeded&sort=task')
    const isSame = async (one: Page) => {
      await expect.poll(() => tasks(one)).toEqual(sorted)
      expect(await one.locator('#find').inputValue()).toBe('clock')
      expect(await one.locator('#outcomes [aria-pressed=true]').allInnerTexts()).toEqual(['succeeded 3'])
      expect(await one.getByRole('columnheader', { name: 'Task' }).getAttribute('aria-sort')).toBe(
        'ascending',
      )
    }
    await page.reload()
    await isSame(page)
    await page.locator('#runs a').first().click()
    await over(page)
    await page.goBack()
    await isSame(page)
    await page.goForward()
    await over(page)
    await page.locator('#to-runs').click()
    await isSame(page)
    await isSame(await pages.open(page.url()))
  })

  test('a run is found again as it was: filters, search, the open item, a range of bytes', async () => {
    const dir = root()
    const { failed } = putLargeRun(dir, 'long', 500)
    putLargeRun(dir, 'other', 20)
    const { url } = await serving(dir)
    const page = await pages.open(url, '#run/long')
    await over(page)
    await page.locator('#filters button', { hasText: 'tools' }).click()
    await page.keyboard.press('p')
    await page.keyboard.press('b')
    await page.locator('#seek').fill('case 3')
    await expect.poll(() => page.url()).toContain('find=case+3')
    const isSame = async (one: Page) => {
      await over(one)
      await one.waitForSelector('#hits-count[data-done=true]')
      expect(await one.locator('#seek').inputValue()).toBe('case 3')
      expect(await one.locator('#filters [aria-pressed=true]').allInnerTexts()).toEqual([
        expect.stringMatching(/^tools \d+$/),
      ])
      await expect
        .poll(() => one.locator('article.chosen').getAttribute('data-outcome'), { timeout: 5000 })
        .toBe('failed')
      await expect.poll(() => one.locator('#bytes .lit').count()).toBeGreaterThan(0)
    }
    await isSame(page)
    const link = page.url()
    expect(link).toContain('#run/long/1.')
    expect(failed).toBeGreaterThan(0)
    await page.reload()
    await isSame(page)
    await isSame(await pages.open(link))
    // A range of bytes of no item.
    const range = await pages.open(url, '#run/long?bytes=1.stdout.10-40')
    await over(range)
    await expect.poll(() => range.locator('#range').innerText()).toBe('bytes 10 to 40 · 30 B')
    await range.evaluate("location.hash = '#run/other'")
    await over(range)
    await expect.poll(() => range.locator('#raw').isVisible()).toBe(false)
    await range.goBack()
    await expect.poll(() => range.locator('#range').innerText()).toBe('bytes 10 to 40 · 30 B')
  })
})
