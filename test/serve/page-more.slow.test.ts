import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { makeRun } from '../views/make-run.ts'
import { violations } from './axe.ts'
import { chromiumPath, needsBrowser } from './browser.ts'
import { over, pagesOfBrowser } from './opened-page.ts'
import { root, serving } from './serving.ts'

interface Facts {
  readonly task: string
  readonly day: number
  readonly text: string
  readonly engine?: string
  readonly failure?: 'rate' | 'auth'
  readonly cost?: number
  readonly about?: { readonly model?: string; readonly tags?: Readonly<Record<string, string>> }
}

function putRun(
  dir: string,
  name: string,
  { task, day, text, engine = 'codex', failure, cost, about }: Facts,
): void {
  mkdirSync(join(dir, name))
  const outcome = failure ? 'failed' : 'finished'
  const events = makeRun([
    ['agent.message.final', { message_id: 'm', text }],
    [
      'lifecycle.completion.state',
      {
        ...{ state: 'awaiting_user_input', reason_code: 'END_SIGNAL', ok: !failure, outcome },
        ...(failure && { failure_class: failure }),
        tokens: { input: 1000, output: 10 },
        ...(cost && { cost: { amount: cost, currency: 'USD' } }),
      },
    ],
  ])
  const lines = events.map(
    (event) => `${JSON.stringify({ ...event, source: { ...event.source, engine } })}\n`,
  )
  writeFileSync(join(dir, name, 'events.jsonl'), lines.join(''))
  writeFileSync(join(dir, name, 'stdout.1.log'), '')
  // At noon, so that the day is the same in most time zones.
  const started_at = new Date(2026, 10, day, 12).toISOString()
  writeFileSync(
    join(dir, name, 'meta.1.json'),
    JSON.stringify({ engine, task, started_at, duration_ms: 60_000, ...about }),
  )
}

function some(): string {
  const dir = root()
  putRun(dir, 'a', {
    task: 'Bake',
    day: 3,
    text: 'The oven says HTTP 429 again.',
    failure: 'rate',
    cost: 0.5,
  })
  putRun(dir, 'b', { task: 'Mend', day: 4, text: 'All is well.', engine: 'claude', cost: 0.25 })
  putRun(dir, 'c', { task: 'Send', day: 4, text: 'Wrong key.', failure: 'auth' })
  return dir
}

const tasks = (page: Page) => page.locator('#runs a').allInnerTexts()
const opened = async (page: Page) => {
  await page.locator('#more summary').click()
  await page.getByRole('combobox', { name: 'Engine' }).waitFor()
}

describe.skipIf(!chromiumPath)(`filters, search and totals of the list${needsBrowser}`, () => {
  const pages = pagesOfBrowser()

  test('runs are picked by engine, failure, day and cost, and a reload picks the same', async () => {
    const { url } = await serving(some())
    const page = await pages.open(url)
    await expect.poll(() => tasks(page)).toHaveLength(3)
    await opened(page)
    await page.getByRole('combobox', { name: 'Engine' }).selectOption('codex')
    await expect.poll(async () => (await tasks(page)).sort()).toEqual(['Bake', 'Send'])
    await page.getByRole('combobox', { name: 'Failure' }).selectOption('rate')
    await expect.poll(() => tasks(page)).toEqual(['Bake'])
    await page.reload()
    await expect.poll(() => tasks(page)).toEqual(['Bake'])
    await expect.poll(() => page.getByRole('combobox', { name: 'Engine' }).inputValue()).toBe('codex')
    // Folded again, the filters stay, and so they do in a copied address.
    await page.locator('#more summary').click()
    await expect.poll(() => page.url()).toContain('more=0')
    const other = await pages.open(page.url())
    await expect.poll(() => tasks(other)).toEqual(['Bake'])
    await other.locator('#more summary').click()
    await other.getByRole('button', { name: 'Reset' }).click()
    await other.getByLabel('From', { exact: true }).fill('2026-11-04')
    await expect.poll(async () => (await tasks(other)).sort()).toEqual(['Mend', 'Send'])
    await other.getByLabel('To', { exact: true }).fill('2026-11-04')
    await other.getByLabel('Cost from').fill('0.2')
    await other.getByLabel('Cost from').press('Enter')
    await expect.poll(() => tasks(other)).toEqual(['Mend'])
    await other.getByLabel('Cost from').fill('9')
    await other.getByLabel('Cost from').press('Enter')
    await other.getByText('No run matches the filters.').waitFor()
    await other.getByRole('button', { name: 'Clear the search' }).click()
    await expect.poll(() => tasks(other)).toHaveLength(3)
  })

  test('runs are picked by model and tag, which a row and the head of a run show', async () => {
    const dir = some()
    const about = { model: 'gpt-9', tags: { team: 'web', ticket: 'A-7' } }
    putRun(dir, 'd', { task: 'Tag', day: 5, text: 'Done.', about })
    const { url } = await serving(dir)
    const page = await pages.open(url)
    await expect.poll(() => tasks(page)).toHaveLength(4)
    await opened(page)
    await page.getByRole('combobox', { name: 'Model' }).selectOption('gpt-9')
    await expect.poll(() => tasks(page)).toEqual(['Tag'])
    await page.getByRole('combobox', { name: 'Tag' }).selectOption('team=web')
    await expect.poll(() => page.url()).toContain('tag=team%3Dweb')
    const other = await pages.open(page.url())
    await expect.poll(() => tasks(other)).toEqual(['Tag'])
    expect(await other.locator('#runs small').innerText()).toBe('d · team=web · ticket=A-7')
    await other.locator('#runs a').click()
    await over(other)
    await expect.poll(() => other.locator('#facts').innerText()).toContain('team=web · ticket=A-7')
  })

  test('logs without a journal are read as those of the agent that is chosen, and a link keeps it', async () => {
    const dir = some()
    mkdirSync(join(dir, 'logs'))
    const line = '{"type":"assistant.message","data":{"messageId":"m","content":"Hi."}}'
    writeFileSync(join(dir, 'logs', 'stdout.log'), `${line}\n`)
    writeFileSync(join(dir, 'logs', 'meta.json'), JSON.stringify({ exit_code: 0 }))
    const { url } = await serving(dir)
    const page = await pages.open(url, '#run/logs')
    await over(page)
    const said = page.locator('#conversation .said')
    expect(await said.allInnerTexts()).toEqual([line])
    await page.getByLabel('Read as').selectOption('copilot')
    await expect.poll(() => said.allInnerTexts()).toEqual(['Hi.'])
    await expect.poll(() => page.url()).toContain('?as=copilot')
    const other = await pages.open(page.url())
    await expect.poll(() => other.locator('#conversation .said').allInnerTexts()).toEqual(['Hi.'])
    await expect.poll(() => other.getByLabel('Read as').inputValue()).toBe('copilot')
    expect(await violations(other)).toEqual([])
    await other.getByLabel('Read as').selectOption('')
    await expect.poll(() => other.url()).not.toContain('as=')
    await expect.poll(() => other.locator('#conversation .said').allInnerTexts()).toEqual([line])
    // A run with a journal has no choice.
    await other.goto(`${url}#run/a`)
    await expect.poll(() => other.getByLabel('Read as').count()).toBe(0)
  })

  test('the totals are of what is shown: numbers, a chart and tables, and a day can be chosen', async () => {
    const { url } = await serving(some())
    const page = await pages.open(url, '#?more=1')
    const sum = page.locator('.totals .sum')
    await expect
      .poll(() => sum.innerText())
      .toBe('3 runs2 failed3.0k tokens in30 tokens out$0.75 cost3 min 0 s time')
    expect(await page.locator('.known').innerText()).toBe(
      'Tokens are known of 3 of 3 runs, cost of 2 of 3 runs, time of 3 of 3 runs.',
    )
    const days = page.getByRole('region', { name: 'By day' }).locator('tbody tr')
    expect(await days.allInnerTexts()).toEqual([
      expect.stringMatching(/^2026-11-04\s+2\s+1\s+2.0k\s+20\s+\$0.25\s+2 min 0 s$/),
      expect.stringMatching(/^2026-11-03\s+1\s+1\s+1.0k\s+10\s+\$0.50?\s+1 min 0 s$/),
    ])
    expect(await page.locator('.chart rect').count()).toBe(3)
    await page.getByRole('button', { name: '2026-11-03' }).click()
    await expect.poll(() => tasks(page)).toEqual(['Bake'])
    await expect.poll(() => sum.innerText()).toContain('1 runs')
  })

  test('what was said is found in all runs, with a way to its place, and the search can be stopped', async () => {
    const { url } = await serving(some())
    const page = await pages.open(url)
    await opened(page)
    await page.getByLabel('Search in what was said and done').fill('http 429')
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await expect.poll(() => page.locator('#said-told').innerText()).toBe('1 run found, 3 of 3 runs searched')
    const hit = page.locator('.said-hits li')
    expect(await hit.innerText()).toMatch(/^Bake[\s\S]*The oven says HTTP 429 again\.$/)
    await page.reload()
    await hit.getByRole('link', { name: 'Bake' }).click()
    await over(page)
    expect(new URL(page.url()).hash).toBe('#run/a/1.1?find=http+429')
    await expect.poll(() => page.locator('article.chosen').innerText()).toContain('HTTP 429')
    await page.goBack()
    await hit.waitFor()
    // A server that never ends its answer.
    await page.route('**/search?*', () => {})
    await page.getByLabel('Search in what was said and done').fill('well')
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByRole('button', { name: 'Search', exact: true }).waitFor()
    expect(await page.locator('#said-told').innerText()).toMatch(/^Stopped/)
    await page.unroute('**/search?*')
  })

  test.each([
    ['light', 1440],
    ['dark', 390],
  ] as const)('axe finds nothing in the %s, %i pixels wide', async (colorScheme, width) => {
    const { url } = await serving(some())
    const viewport = { width, height: 900 }
    const page = await pages.open(url, '#?more=1&said=429', {
      viewport,
      colorScheme,
      reducedMotion: 'reduce',
    })
    await page.locator('.said-hits li').waitFor()
    await page.locator('.totals table').first().waitFor()
    expect(await violations(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
  })

  test('what went wrong on the way to a good end is not red', async () => {
    const dir = root()
    mkdirSync(join(dir, 'run'))
    const failed = { call_id: 'a', name: 'Bash', kind: 'execute', exit_code: 1, output: 'no' } as const
    const end = { state: 'awaiting_user_input', reason_code: 'END_SIGNAL' } as const
    for (const outcome of ['finished', 'failed'] as const) {
      const events = makeRun([
        ['tool.call.failed', failed],
        ['lifecycle.completion.state', { ...end, outcome, ok: outcome === 'finished' }],
      ])
      mkdirSync(join(dir, outcome))
      writeFileSync(
        join(dir, outcome, 'events.jsonl'),
        events.map((event) => `${JSON.stringify(event)}\n`).join(''),
      )
      writeFileSync(join(dir, outcome, 'meta.1.json'), '{"engine":"codex"}')
    }
    const { url } = await serving(dir)
    const colour = async (name: string) => {
      const page = await pages.open(url, `#run/${name}`, { colorScheme: 'light' })
      await over(page)
      return await page.evaluate("getComputedStyle(document.getElementById('problems')).color")
    }
    const [good, bad] = [await colour('finished'), await colour('failed')]
    expect(bad).toBe('rgb(165, 48, 42)')
    expect(good).toBe('rgb(85, 88, 95)')
  })
})
