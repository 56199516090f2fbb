import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { afterEach, describe, expect, test } from 'vitest'
import type { AgentEvent, EventOf } from '../../src/events/event.ts'
import { run } from '../../src/run/run.ts'
import type { Run } from '../../src/run/run-options.ts'
import { exportRun } from '../../src/serve/export.ts'
import type { RunInfo } from '../../src/serve/run-info.ts'
import { wires } from '../run/wires.ts'
import { violations } from './axe.ts'
import { chromiumPath, needsBrowser } from './browser.ts'
import { over, pagesOfBrowser } from './opened-page.ts'
import { root, serving } from './serving.ts'

const live: Run[] = []

/** Agents that say what was recorded, and ask for the same. */
const agents = {
  permission: ['gemini-acp.allow-always', 'acp', []],
  rejected: ['gemini-acp.reject', 'acp', []],
  interrupted: ['gemini-acp.cancel-during-request', 'acp', []],
  unanswerable: ['gemini-acp.reject', 'acp', []],
  later: ['gemini-acp.two-requests', 'acp', []],
  two: ['codex-app-server.two-requests', 'codex', ['app-server']],
  question: ['codex-app-server.question', 'codex', ['app-server']],
  turns: ['codex-app-server.three-turns', 'codex', ['app-server']],
} as const

const questions = [
  {
    ...{ id: 'colour', header: 'Colour', question: 'Which colour?', isOther: true, isSecret: false },
    options: [
      { label: 'Red', description: 'the red one' },
      { label: 'Blue', description: 'the blue one' },
    ],
  },
  { id: 'name', header: 'Name', question: 'Which name?', isOther: false, isSecret: false, options: null },
]

/** A run that waits; its agent is asked for two answers instead of one. */
function start(dir: string, name: keyof typeof agents, control = true) {
  const [wire, engine, words] = agents[name]
  for (const turn of name === 'turns' ? ['', '.2'] : ['']) {
    const said = readFileSync(join(wires, `${wire}${turn}.jsonl`), 'utf8')
    const asked = said.replace(/"questions":\[.*?\}\]\}\]/, `"questions":${JSON.stringify(questions)}`)
    const own = `"toolCall":{"rawInput":${JSON.stringify({ questions })},`
    const acp = name === 'unanswerable' ? asked.replace('"toolCall":{', own) : asked
    writeFileSync(join(dir, `${name}${turn}.jsonl`), acp)
  }
  const notes = join(dir, `${name}.notes`)
  const agent = run(
    process.execPath,
    [join(wires, 'stand-in.mjs'), join(dir, `${name}.jsonl`), notes, ...words],
    {
      ...{ engine, cwd: dir, audit: join(dir, 'runs', name), talk: true, control, fsDiff: false },
      ...{ prompt: 'Tidy up.', killGrace: 300 },
    },
  )
  live.push(agent)
  const told: EventOf<'lifecycle.run.status'>['data'][] = []
  const read = async () => {
    for await (const event of agent as AsyncIterable<AgentEvent>)
      if (event.type === 'lifecycle.run.status') told.push(event.data)
  }
  const end = Promise.all([read(), agent.end])
  end.catch(() => {})
  return {
    agent,
    told,
    end,
    settled: () => told.filter(({ status }) => status === 'request_settled'),
    /** What the agent was sent. */
    sent: () => readFileSync(notes, 'utf8'),
  }
}

const looks = [
  [390, 'light'],
  [390, 'dark'],
  [1440, 'light'],
  [1440, 'dark'],
] as const
/** Both widths and both schemes, for cards that the other tests show in all four looks. */
const twoLooks = [looks[1], looks[2]] as const
const look = (width: number, colorScheme: 'light' | 'dark') =>
  ({ viewport: { width, height: 844 }, colorScheme, reducedMotion: 'reduce' }) as const
/** What has the focus, in a word. */
const focused = (page: Page) =>
  page.evaluate(
    'document.activeElement.textContent.trim() || document.activeElement.id || document.activeElement.tagName',
  )
/** Presses Tab until this has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 40; presses++) {
    if ((await focused(page)) === name) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the focus never came to ${name}`)
}

describe.skipIf(!chromiumPath)(`control from a browser${needsBrowser}`, () => {
  const pages = pagesOfBrowser()
  afterEach(() => {
    for (const agent of live.splice(0)) agent.kill()
  })
  const control = { control: { reply: true } }

  test.each(looks)('a request is answered at %i px, %s; always is asked once more', async (width, scheme) => {
    const dir = root()
    const { end, settled } = start(dir, 'permission')
    const { url } = await serving(join(dir, 'runs'), control)
    const page = await pages.open(url, '#run/permission', look(width, scheme))
    const card = page.locator('.request')
    await card.getByRole('button', { name: 'Reject', exact: true }).waitFor()
    const buttons = card.getByRole('button')
    expect(await buttons.allInnerTexts()).toEqual(['Allow for this session', 'Allow', 'Reject'])
    // Nothing is chosen: Enter answers nothing.
    await expect.poll(() => page.evaluate('document.activeElement.className')).toBe('answer')
    await page.keyboard.press('Enter')
    expect(await violations(page)).toEqual([])
    for (const { width: wide, height } of await Promise.all(
      (await buttons.all()).map(async (one) => (await one.boundingBox())!),
    )) {
      if (width > 390) continue
      expect(height).toBeGreaterThanOrEqual(44)
      expect(wide).toBeGreaterThan(330)
    }
    if (width === 390) expect((await card.boundingBox())!.width).toBeGreaterThan(370)
    await buttons.first().click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('button').allInnerTexts()).toEqual(['Allow for this session', 'Cancel'])
    expect(await focused(page)).toBe('Cancel')
    expect(await violations(page)).toEqual([])
    await page.keyboard.press('Enter')
    expect(await dialog.count()).toBe(0)
    expect(settled()).toEqual([])
    await buttons.first().click()
    await dialog.getByRole('button', { name: 'Allow for this session' }).click()
    await page.locator('.request .how', { hasText: 'Allow for this session' }).waitFor()
    expect(await card.getByRole('button').count()).toBe(0)
    expect(new URL(page.url()).hash).toBe('#run/permission')
    expect(await page.evaluate('document.activeElement.id')).toBe('conversation')
    expect(settled()).toMatchObject([{ by: 'control', option: 'proceed_always' }])
    await end
    // The list still said that it waits when its end was drawn.
    await page.locator('#state', { hasText: 'finished' }).waitFor()
    await page.locator('#waits').waitFor({ state: 'hidden' })
  })

  test.each(looks)(
    'a question with two fields is answered with the keys at %i px, %s',
    async (width, scheme) => {
      const dir = root()
      const { end, sent } = start(dir, 'question')
      const { url } = await serving(join(dir, 'runs'), control)
      const page = await pages.open(url, '#run/question', look(width, scheme))
      const blue = page.getByRole('radio', { name: 'Blue', exact: true })
      await blue.waitFor()
      expect(await page.getByRole('group', { name: 'Which colour?' }).count()).toBe(1)
      expect(await page.getByRole('radio', { checked: true }).count()).toBe(0)
      expect(await violations(page)).toEqual([])
      await tabTo(page, 'Send')
      await page.keyboard.press('Enter')
      await page.locator('.answer .how', { hasText: 'No answer yet: Which colour?' }).waitFor()
      await page.keyboard.press('Space')
      await page.keyboard.press('ArrowDown')
      expect(await blue.isChecked()).toBe(true)
      expect(await page.locator('.answer .how').innerText()).toBe('')
      // Another answer leaves the options.
      await page.keyboard.press('Tab')
      await page.keyboard.type('violet')
      expect(await page.getByRole('radio', { checked: true }).count()).toBe(0)
      await page.keyboard.press('Tab')
      expect(await page.evaluate("document.activeElement.closest('label').textContent")).toBe('Which name?')
      await page.keyboard.type('p, j and ?')
      await page.keyboard.press('Enter')
      await page.locator('.request .how', { hasText: 'answered' }).waitFor()
      await end
      expect(sent()).toContain('{"colour":{"answers":["violet"]},"name":{"answers":["p, j and ?"]}}')
    },
  )

  test('rejected with the keys alone, from the list on', async () => {
    const dir = root()
    const { end, settled } = start(dir, 'rejected')
    await start(dir, 'turns').end
    const { url } = await serving(join(dir, 'runs'), control)
    const page = await pages.open(url)
    await page.getByRole('button', { name: 'waits for you 1' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Reject', exact: true }).waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.className')).toBe('answer')
    let pass = () => {}
    const passed = new Promise<void>((resolve) => {
      pass = resolve
    })
    await page.route('**/control', async (route) => {
      await passed
      await route.continue()
    })
    await tabTo(page, 'Reject')
    await page.keyboard.press('Space')
    // While it is under way nothing else can be answered, and the focus stays.
    await page.locator('.answer .how', { hasText: 'has not answered yet' }).waitFor()
    for (const one of await page.locator('.answer button').all()) expect(await one.isDisabled()).toBe(true)
    expect(await page.evaluate('document.activeElement.className')).toBe('answer')
    pass()
    await page.locator('.request .how', { hasText: 'Reject' }).waitFor()
    expect(settled()).toMatchObject([{ by: 'control', option: 'cancel' }])
    await end
  })

  test.each(twoLooks)('stopped and interrupted after a question back at %i px, %s', async (width, scheme) => {
    const dir = root()
    const one = start(dir, 'two')
    const other = start(dir, 'interrupted')
    const { url } = await serving(join(dir, 'runs'), control)
    for (const [id, word, { told, end }] of [
      ['two', 'Stop', one],
      ['interrupted', 'Interrupt', other],
    ] as const) {
      const page = await pages.open(url, `#run/${id}`, look(width, scheme))
      const act = page.locator('#head').getByRole('button', { name: word, exact: true })
      await page.locator('.answer').first().waitFor()
      await tabTo(page, word).catch(() => act.focus())
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog')
      expect(await dialog.getByRole('button').allInnerTexts()).toEqual([word, 'Cancel'])
      expect(await violations(page)).toEqual([])
      await page.keyboard.press('Escape')
      expect(told.filter(({ status }) => status === 'control')).toEqual([])
      expect(await focused(page)).toBe(word)
      await page.keyboard.press('Enter')
      await dialog.getByRole('button', { name: word }).click()
      const [, ended] = await end
      expect(ended.outcome).toBe('cancelled')
      expect(told.filter(({ status }) => status === 'control')).toMatchObject([
        { do: word.toLowerCase(), result: 'done' },
      ])
      await page.locator('.step', { hasText: `control · ${word.toLowerCase()} done` }).waitFor()
      await page.locator('#ordered', { hasText: `${word}: Done.` }).waitFor()
      await page.locator('#state', { hasText: 'cancelled' }).waitFor()
      await act.waitFor({ state: 'hidden' })
      expect(await page.locator('.answer').count()).toBe(0)
    }
  })

  test('a question that is asked again at once is answered by its own dialog', async () => {
    const dir = root()
    const { end } = start(dir, 'two')
    const { url } = await serving(join(dir, 'runs'), control)
    const page = await pages.open(url, '#run/two')
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByRole('dialog').waitFor()
    await page.evaluate("document.getElementById('ask').close(); document.getElementById('stop').click()")
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click()
    await page.locator('#ordered', { hasText: 'Stop: Done.' }).waitFor()
    expect((await end)[1].outcome).toBe('cancelled')
  })

  test.each(twoLooks)('a run that has ended is replied to at %i px, %s', async (width, scheme) => {
    const dir = root()
    const { end, sent } = start(dir, 'turns')
    await end
    const { url } = await serving(join(dir, 'runs'), control)
    const page = await pages.open(url, '#run/turns', look(width, scheme))
    const box = page.getByLabel('Reply', { exact: true })
    await box.waitFor()
    await over(page)
    expect(await violations(page)).toEqual([])
    const send = page.getByRole('button', { name: 'Send' })
    expect(await send.isDisabled()).toBe(true)
    if (width === 390) expect((await send.boundingBox())!.height).toBeGreaterThanOrEqual(44)
    await box.focus()
    await page.keyboard.type('again, please')
    await page.keyboard.press('Enter')
    await page.keyboard.type('and p')
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => sent()).toContain('again, please\\nand p')
    await expect.poll(() => box.inputValue()).toBe('')
    const info = async () => (await (await fetch(`${url}runs/turns`)).json()) as RunInfo
    await expect
      .poll(async () => [(await info()).attempts, (await info()).state])
      .toEqual([2, 'awaiting_user_input'])
    expect(new URL(page.url()).hash).toBe('#run/turns')
  })

  test('who is answered by another closes the card; typing keeps the focus; it is announced once', async () => {
    const dir = root()
    const { agent, told, end } = start(dir, 'later')
    await start(dir, 'turns').end
    const { url } = await serving(join(dir, 'runs'), control)
    const page = await pages.open(url)
    await page.evaluate(`{
      const alert = document.querySelector('[role=alert]')
      window.alerts = []
      new MutationObserver(() => alert.textContent && alerts.push(alert.textContent)).observe(alert, { childList: true })
    }`)
    const alerts = () => page.evaluate('alerts') as Promise<string[]>
    const form = page.locator('.answer')
    await page.evaluate("location.hash = '#run/later'")
    await form.waitFor()
    // Another look at the list asks nothing anew.
    await page.evaluate("location.hash = '#run/turns'")
    await over(page)
    await page.evaluate("location.hash = '#run/later'")
    await form.waitFor()
    const before = await alerts()
    expect(before).toHaveLength(1)
    await page.locator('#seek').focus()
    const answer = () => {
      const { request } = told.findLast((data) => data.request)!
      agent.answer(request!.id, 'proceed_once')
    }
    const first = await form.elementHandle()
    answer()
    await expect.poll(async () => (await alerts()).length).toBe(2)
    expect(await first!.evaluate('(form) => form.isConnected')).not.toBe(true)
    expect(await page.locator('.request .how', { hasText: 'answered' }).count()).toBe(1)
    expect(await page.evaluate('document.activeElement.id')).toBe('seek')
    await page.getByRole('button', { name: /^Waits for an answer/ }).click()
    expect(await page.evaluate('document.activeElement.className')).toBe('answer')
    answer()
    await expect.poll(() => form.count()).toBe(0)
    await end
  })

  test('what another answers meanwhile closes the dialog, too', async () => {
    const dir = root()
    const { agent, told, end } = start(dir, 'permission')
    const { url } = await serving(join(dir, 'runs'), control)
    const page = await pages.open(url, '#run/permission')
    await page.getByRole('button', { name: 'Allow for this session', exact: true }).click()
    await page.getByRole('dialog').waitFor()
    agent.answer(told.findLast(({ request }) => request)!.request!.id, 'proceed_always')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await end
    expect(told.filter(({ status }) => status === 'control')).toEqual([])
  })

  test('an order that the run refuses is told with the reason, and can be given again', async () => {
    const dir = root()
    const { told } = start(dir, 'unanswerable')
    const { url } = await serving(join(dir, 'runs'), control)
    const page = await pages.open(url, '#run/unanswerable')
    const send = page.getByRole('button', { name: 'Send', exact: true })
    await page.getByRole('radio').first().check()
    await page.getByLabel('Which name?').fill('any')
    await send.click()
    await page.locator('.answer .how', { hasText: /^Refused: .*this agent takes an option/ }).waitFor()
    expect(await send.isEnabled()).toBe(true)
    expect(told.filter(({ status }) => status === 'control')).toMatchObject([{ result: 'refused' }])
  })

  test('an order that is not passed on is told, and can be given again', async () => {
    const dir = root()
    start(dir, 'permission')
    const { url, close } = await serving(join(dir, 'runs'), control)
    const page = await pages.open(url, '#run/permission')
    const reject = page.getByRole('button', { name: 'Reject', exact: true })
    await reject.waitFor()
    await close()
    await reject.click()
    await page.locator('.answer .how', { hasText: 'Not done: the server does not answer' }).waitFor()
    expect(await reject.isEnabled()).toBe(true)
  })

  test('the list has a filter for runs that wait for you; the title says how many', async () => {
    const dir = root()
    const { agent, end } = start(dir, 'permission')
    start(dir, 'two', false)
    await start(dir, 'turns').end
    const { url } = await serving(join(dir, 'runs'), control)
    const page = await pages.open(url)
    await expect.poll(() => page.title()).toBe('1 waits for you · Runs · sluice')
    await page.getByRole('button', { name: 'waits for you 1' }).click()
    expect(await page.locator('#runs tr').count()).toBe(1)
    expect(await page.locator('#runs .outcome').innerText()).toBe('needs input')
    expect(await violations(page)).toEqual([])
    agent.kill()
    await end
    await expect.poll(() => page.title()).toBe('Runs · sluice')
    await page.locator('#none', { hasText: '3 runs, but none that waits for you.' }).waitFor()
  })

  test('a run that begins after its page was opened has its buttons', async () => {
    const dir = root()
    const first = start(dir, 'turns')
    await first.end
    const { url } = await serving(join(dir, 'runs'), control)
    const page = await pages.bare()
    await page.goto(`${url}#run/permission`)
    await page.locator('#task', { hasText: 'This run is not here' }).waitFor()
    start(dir, 'permission')
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
    await page.locator('#task', { hasText: 'Tidy up.' }).waitFor()
    await page.getByRole('button', { name: 'Reject', exact: true }).waitFor()
  })

  test('no buttons without control: of the run, of the server, in an export', async () => {
    const dir = root()
    start(dir, 'two', false)
    const { told } = start(dir, 'permission')
    await start(dir, 'turns').end
    // The export has what was asked until then.
    await expect.poll(() => told.some(({ request }) => request), { timeout: 20_000 }).toBe(true)
    const with_ = await serving(join(dir, 'runs'), { control: true })
    const without = await serving(join(dir, 'runs'))
    const file = join(dir, 'run.html')
    let html = ''
    for await (const text of exportRun(join(dir, 'runs/permission'), { to: 'html' })) html += text
    writeFileSync(file, html)
    for (const address of [
      `${with_.url}#run/two`,
      `${without.url}#run/permission`,
      `${with_.url}#run/turns`,
      pathToFileURL(file).href,
    ]) {
      const page = await pages.bare()
      await page.goto(address)
      await page
        .locator(address.endsWith('turns') ? 'article' : '.request')
        .first()
        .waitFor()
      await page.locator('#state', { hasText: /./ }).waitFor()
      expect(
        await page
          .locator('.request :is(button, input), form:visible, #stop:visible, #interrupt:visible')
          .count(),
      ).toBe(0)
    }
  })
})
