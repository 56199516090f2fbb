import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { makeRun } from '../views/make-run.ts'
import { chromiumPath, needsBrowser } from './browser.ts'
import { pagesOfBrowser } from './opened-page.ts'
import { root, serving } from './serving.ts'

interface Facts {
  readonly task: string
  readonly outcome: string
  readonly day: number
  readonly seconds: number
  readonly tokens: number
  readonly engine?: string
  readonly problem?: string
  readonly files?: readonly string[]
}

/** A run that is over, as a recorder leaves it. */
function putRun(dir: string, name: string, facts: Facts): void {
  const { task, outcome, day, seconds, tokens, engine = 'codex', problem, files } = facts
  const path = join(dir, name)
  mkdirSync(path, { recursive: true })
  const error = { code: 'ENGINE_ERROR', message: problem ?? '', severity: 'error', confidence: 1 } as const
  const events = makeRun([
    ...(problem === undefined ? [] : [['diagnostic.engine.error', error] as const]),
    [
      'lifecycle.completion.state',
      {
        ...{ state: 'awaiting_user_input', reason_code: 'END_SIGNAL', ok: outcome === 'finished' },
        outcome: outcome as 'failed', // cast: any outcome
        tokens: { input: tokens, output: 1 },
        cost: { amount: tokens < 100 ? 0 : tokens / 1000, currency: 'USD' },
      },
    ],
  ])
  const lines = events.map(
    (event) => `${JSON.stringify({ ...event, source: { ...event.source, engine } })}\n`,
  )
  writeFileSync(join(path, 'events.jsonl'), lines.join(''))
  writeFileSync(join(path, 'stdout.1.log'), '')
  if (files) writeFileSync(join(path, 'fs-diff.1.json'), JSON.stringify({ modified: files }))
  const started_at = new Date(Date.UTC(2026, 0, day)).toISOString()
  writeFileSync(
    join(path, 'meta.1.json'),
    JSON.stringify({ engine, task, started_at, duration_ms: seconds * 1000 }),
  )
}

const three = (dir: string) => {
  const problem = 'quota exceeded'
  putRun(dir, 'a/one', {
    task: 'Bake bread\nwith rye',
    outcome: 'failed',
    day: 1,
    seconds: 90,
    tokens: 500,
    problem,
    files: ['oven.ts', 'rye.ts'],
  })
  putRun(dir, 'a/two', { task: 'Mend the clock', outcome: 'finished', day: 2, seconds: 5, tokens: 12_000 })
  putRun(dir, 'b/three', {
    task: 'Answer mail',
    outcome: 'finished',
    day: 3,
    seconds: 30,
    tokens: 70,
    engine: 'claude',
  })
}

const tasks = (page: Page) => page.locator('#runs a').allInnerTexts()
const header = (page: Page, name: string) => page.getByRole('columnheader', { name })

describe.skipIf(!chromiumPath)(`the table of runs${needsBrowser}`, () => {
  const pages = pagesOfBrowser()

  test('is a table in main: the task, how it went, when, how long, tokens, cost and the first problem', async () => {
    const dir = root()
    three(dir)
    const { url } = await serving(dir)
    const page = await pages.open(url)
    await expect.poll(() => tasks(page)).toEqual(['Answer mail', 'Mend the clock', 'Bake bread'])
    const table = page.getByRole('main').getByRole('table', { name: 'Runs' })
    expect(await table.getAttribute('aria-rowcount')).toBe('4')
    expect(await table.getByRole('columnheader').allInnerTexts()).toEqual([
      'Task',
      'Engine',
      'Outcome',
      'When',
      'Took',
      'Tokens',
      'Cost',
      'Files',
      'Problem',
    ])
    const cells = await table.getByRole('row').nth(3).getByRole('cell').allInnerTexts()
    expect(cells[0]).toMatch(/^Bake bread\s*a\/one$/)
    expect([cells[1], cells[2], ...cells.slice(4)]).toEqual([
      'codex',
      'failed',
      '1 min 30 s',
      '501',
      '$0.50',
      '2 files',
      'quota exceeded',
    ])
    const styleOf = (place: string, name: string) =>
      page.evaluate(
        `getComputedStyle(document.querySelector('#runs [data-state="failed"] ${place}')).${name}`,
      )
    expect(await styleOf('.problem', 'color')).toBe(await styleOf('.dot', 'backgroundColor'))
    // Free is not unknown.
    expect(await table.getByRole('row').nth(1).locator('.cost').innerText()).toBe('$0')
    await page.getByRole('link', { name: 'Mend the clock' }).click()
    await expect.poll(() => page.locator('#task').innerText()).toBe('Mend the clock')
    expect(await page.locator('#list').isVisible()).toBe(false)
    await page.goBack()
    await expect.poll(() => page.locator('#list').isVisible()).toBe(true)
  })

  test('is sorted by any column, up and down, and says so', async () => {
    const dir = root()
    three(dir)
    const { url } = await serving(dir)
    const page = await pages.open(url)
    await expect.poll(() => tasks(page)).toHaveLength(3)
    const first = async (name: string) => {
      await header(page, name).getByRole('button').click()
      return [(await tasks(page))[0], await header(page, name).getAttribute('aria-sort')]
    }
    expect(await header(page, 'When').getAttribute('aria-sort')).toBe('descending')
    expect(await first('Tokens')).toEqual(['Mend the clock', 'descending'])
    expect(await first('Tokens')).toEqual(['Answer mail', 'ascending'])
    expect(await first('Task')).toEqual(['Answer mail', 'ascending'])
    expect(await header(page, 'Tokens').getAttribute('aria-sort')).toBe(null)
    expect(await first('Took')).toEqual(['Bake bread', 'descending'])
    expect(await first('Files')).toEqual(['Bake bread', 'descending'])
    expect(await first('Cost')).toEqual(['Mend the clock', 'descending'])
    expect(await first('Cost')).toEqual(['Answer mail', 'ascending'])
    // Those without one are last, whichever way.
    expect(await first('Problem')).toEqual(['Bake bread', 'ascending'])
    expect(await first('Problem')).toEqual(['Bake bread', 'descending'])
  })

  test('is filtered by words and outcomes, and changes while it is looked at', async () => {
    const dir = root()
    three(dir)
    const { url } = await serving(dir)
    const page = await pages.open(url)
    await expect.poll(() => tasks(page)).toHaveLength(3)
    await page.keyboard.press('r')
    for (const [words, found] of [
      ['failed', ['Bake bread']],
      ['quota', ['Bake bread']],
      ['claude mail', ['Answer mail']],
      ['a/ clock', ['Mend the clock']],
    ] as const) {
      await page.locator('#find').fill(words)
      expect(await tasks(page)).toEqual(found)
    }
    expect(await page.locator('#count').innerText()).toBe('1 of 3 runs')
    await page.locator('#find').fill('nothing like it')
    expect(await page.locator('#none p').first().innerText()).toBe('No run matches “nothing like it”.')
    await page.getByRole('button', { name: 'Clear the search' }).click()
    expect(await tasks(page)).toHaveLength(3)
    // The search finds one, the outcome hides it.
    await page.locator('#outcomes [data-filter=finished]').click()
    await page.locator('#find').fill('bread')
    expect(await page.locator('#none p').first().innerText()).toBe('1 run, but none finished.')
    await page.getByRole('button', { name: 'Show all outcomes' }).click()
    expect(await tasks(page)).toEqual(['Bake bread'])
    await page.locator('#find').fill('')
    await page.locator('#outcomes [data-filter=finished]').click()
    expect(await tasks(page)).toEqual(['Answer mail', 'Mend the clock'])
    putRun(dir, 'c', { task: 'Come later', outcome: 'finished', day: 9, seconds: 1, tokens: 1 })
    await expect
      .poll(() => tasks(page), { timeout: 20_000 })
      .toEqual(['Come later', 'Answer mail', 'Mend the clock'])
    rmSync(join(dir, 'a'), { recursive: true })
    await expect.poll(() => tasks(page), { timeout: 20_000 }).toEqual(['Come later', 'Answer mail'])
  })

  test('on a phone each run is a card, without hints of keys, and nothing is wider than the screen', async () => {
    const dir = root()
    three(dir)
    const { url } = await serving(dir)
    const page = await pages.open(url, '', { viewport: { width: 390, height: 800 } })
    await expect.poll(() => tasks(page)).toHaveLength(3)
    expect(await page.locator('kbd:visible, #keys:visible').count()).toBe(0)
    expect(await page.locator('body').innerText()).not.toMatch(/\((r|\/|\?)\)/)
    const wide = 'document.documentElement.scrollWidth'
    expect(await page.evaluate(wide)).toBe(390)
    // Chips and headers: none is cut at the edge.
    for (const one of await page.locator('#outcomes > *, #rows th:visible').all()) {
      const { x, width } = (await one.boundingBox())!
      expect(x + width).toBeLessThanOrEqual(390)
    }
    const row = page.getByRole('row').nth(3)
    expect(await row.innerText()).toMatch(/Bake bread[\s\S]*codex[\s\S]*failed[\s\S]*quota exceeded/)
    expect((await row.boundingBox())!.height).toBeLessThan(100)
    await header(page, 'Tokens').getByRole('button').click()
    expect((await tasks(page))[0]).toBe('Mend the clock')
    await row.click()
    await expect.poll(() => page.locator('#talk').isVisible()).toBe(true)
    expect(await page.evaluate(wide)).toBe(390)
    expect(await page.locator('kbd:visible').count()).toBe(0)
  })

  test('lists its own keys, and says when the server is gone', async () => {
    const dir = root()
    three(dir)
    const { url, close } = await serving(dir)
    const page = await pages.open(url)
    await expect.poll(() => tasks(page)).toHaveLength(3)
    const keys = async () => (await page.locator('#key-list kbd').allInnerTexts()).join(' ')
    await page.keyboard.press('?')
    expect(await keys()).toBe('/ r t ?')
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Mend the clock' }).click()
    await page.keyboard.press('?')
    expect(await keys()).toMatch(/^p P \/ n N .* Esc$/)
    await page.keyboard.press('Escape')
    await page.keyboard.press('r')
    await close()
    await expect
      .poll(() => page.locator('#link').innerText(), { timeout: 20_000 })
      .toContain('does not answer')
  })

  test('of 10,000 runs is filtered, sorted and scrolled within a few frames, with a screenful in the document', {
    timeout: 400_000,
  }, async () => {
    const dir = root()
    for (let i = 0; i < 10_000; i++) {
      const facts = {
        outcome: i % 10 ? 'finished' : 'failed',
        day: 1 + (i % 300),
        seconds: i % 100,
        tokens: i,
      }
      putRun(dir, `${i % 40}/${i}`, { task: `Task number ${i}`, ...facts })
    }
    const { url } = await serving(dir)
    const page = await pages.open(url)
    await page.locator('#count', { hasText: '10,000 runs' }).waitFor({ timeout: 120_000 })
    expect(await page.locator('#runs tr').count()).toBeLessThan(60)
    // From a key or a click to the next frame. The best of five: other tests run on the same machine.
    const took = async (act: string): Promise<number> =>
      Math.min(
        ...((await page.evaluate(`(async () => {
          const frame = () => new Promise((done) => requestAnimationFrame(done))
          const find = (text) => {
            const field = document.getElementById('find')
            field.value = text
            field.dispatchEvent(new Event('input'))
          }
          const times = []
          for (let i = 0; i < 5; i++) {
            await frame()
            const began = performance.now()
            ${act}
            await frame()
            times.push(performance.now() - began)
          }
          return times
        })()`)) as number[]),
      )
    const times = {
      sort: await took("document.querySelectorAll('#rows th button')[4 + (i % 2)].click()"),
      find: await took("find(i % 2 ? '' : 'number 99')"),
      all: await took("find(i % 2 ? 'failed' : '')"),
      end: await took("document.getElementById('rows').scrollTop = i % 2 ? 0 : 1e9"),
    }
    for (const [what, ms] of Object.entries(times)) expect(ms, what).toBeLessThan(400)
    await header(page, 'Tokens').getByRole('button').click()
    await page.evaluate("document.getElementById('rows').scrollTop = 1e9")
    await expect.poll(async () => (await tasks(page)).at(-1)).toBe('Task number 0')
    // The list is asked for every two seconds, and not sent again while nothing changes.
    const answer = await page.waitForResponse((response) => response.url().includes('/runs?since='), {
      timeout: 60_000,
    })
    expect(answer.status()).toBe(304)
    // Of a new run the page gets that run alone, and a link far down opens without the runs before it.
    const changes = page.waitForResponse(
      (response) => response.url().includes('/runs?since=') && response.status() === 200,
      { timeout: 60_000 },
    )
    putRun(dir, 'new', { task: 'New', outcome: 'finished', day: 400, seconds: 1, tokens: 1 })
    expect((await (await changes).body()).length).toBeLessThan(2000)
    await page.locator('#count', { hasText: '10,001 runs' }).waitFor()
    const linked = await pages.open(url, '#run/0%2F0')
    await linked.locator('#conversation[data-over=true]').waitFor()
    await expect.poll(() => linked.title()).toBe('Task number 0 · sluice')
    await linked.close()
    rmSync(dir, { recursive: true })
  })
})
