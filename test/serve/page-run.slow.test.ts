import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { exportRun } from '../../src/serve/export.ts'
import { makeRun } from '../views/make-run.ts'
import { chromiumPath, needsBrowser } from './browser.ts'
import { putLargeRun } from './large-run.ts'
import { over, pagesOfBrowser } from './opened-page.ts'
import { root, serving } from './serving.ts'

type Steps = Parameters<typeof makeRun>[0]

const shell = (id: string, command: string, more: object = {}) => {
  const data = { call_id: id, name: 'command_execution', kind: 'execute', input: { command }, ...more }
  const type = 'exit_code' in more ? 'tool.call.failed' : 'tool.call.completed'
  return [
    ['tool.call.started', data],
    [type, data],
  ] as const
}
const done = (id: string, name: string, kind: string, input: object) =>
  ['tool.call.completed', { call_id: id, name, kind, input, output: 'ok' }] as const
const ended = (outcome: string, more: object = {}) =>
  [
    'lifecycle.completion.state',
    {
      ...{ state: 'awaiting_user_input', reason_code: 'END_SIGNAL', outcome, ok: outcome === 'finished' },
      evidence: { done_marker: false, end_signal: 'turn.completed', exit_code: 0, signal: null, ...more },
      tokens: { input: 1200, output: 34 },
    },
  ] as const
const request = {
  ...{
    id: '1:0',
    kind: 'permission',
    tool: 'Bash',
    title: 'rm -r build',
    reason: 'tidy up',
    input: { command: 'rm -r build' },
  },
  options: [
    { id: 'yes', label: 'Allow once', kind: 'allow_once' },
    { id: 'no', label: 'Reject', kind: 'reject_once' },
  ],
} as const
const asks = ['lifecycle.run.status', { status: 'request_opened', request }] as const
const settled = {
  ...{ status: 'request_settled', request_id: '1:0', by: 'user', option: 'yes' },
} as const
const lines = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n')

const first = [
  ['lifecycle.run.status', { status: 'started', model: 'gpt-5' }],
  ['lifecycle.run.status', { status: 'turn_started' }],
  ['agent.reasoning.summary', { message_id: 't', text: '**Checking** the `clock`\n\nIt may be slow.' }],
  ...['npm ci', 'npm run build', 'git status'].flatMap((one, i) => shell(`s${i}`, `/bin/bash -lc '${one}'`)),
  ...shell('bad', "/bin/bash -lc 'npm test'", { exit_code: 1, output: `${lines}\nexpected 3, got 2` }),
  done('w', 'Write', 'edit', { file_path: 'src/clock.ts', content: '// The hour\nexport const hour = 3\n' }),
  done('e', 'Edit', 'edit', {
    file_path: 'src/zone.ts',
    old_string: 'let a = 1',
    new_string: 'let a = "two"',
  }),
  done('x', 'Write', 'edit', { file_path: 'x.txt', content: 'x' }),
  asks,
  ['lifecycle.run.status', settled],
  ['agent.message.final', { message_id: 'm', text: 'Mended.\n\n```ts\nconst hour = 3 // winter\n```' }],
  ['lifecycle.run.status', { status: 'turn_completed', tokens: { input: 1200, output: 34 } }],
  ended('finished'),
]
const second = [
  ['lifecycle.run.status', { status: 'started' }],
  ['user.message', { text: 'now make it fast' }],
  ['agent.message.final', { message_id: 'n', text: 'It is fast now.' }],
  ended('finished'),
]

/** A run as a recorder leaves it: its task is in its command line. */
function putRun(name: string, ...attempts: readonly (readonly unknown[])[]): string {
  const dir = root()
  const path = join(dir, name)
  mkdirSync(path)
  // Cast: short forms of real events.
  const events = attempts.flatMap((steps, i) => makeRun(steps as Steps, { attempt: i + 1 }))
  writeFileSync(join(path, 'events.jsonl'), events.map((event) => `${JSON.stringify(event)}\n`).join(''))
  attempts.forEach((_, i) => {
    const argv = [
      'codex',
      'exec',
      '--json',
      ...(i === 0 ? ['Mend the clock\nin winter, too'] : ['resume', 's', '-']),
    ]
    const meta = {
      engine: 'codex',
      argv,
      exit_code: 0,
      started_at: '2026-11-16T10:00:00Z',
      duration_ms: 5000,
    }
    writeFileSync(join(path, `meta.${i + 1}.json`), JSON.stringify(meta))
    writeFileSync(join(path, `stdout.${i + 1}.log`), '{"type":"turn.started"}\n')
  })
  return dir
}

describe.skipIf(!chromiumPath)(`a run in a browser${needsBrowser}`, () => {
  const pages = pagesOfBrowser()
  const open = async (dir: string, name = 'run') => {
    const { url } = await serving(dir)
    const page = await pages.open(url, `#run/${name}`)
    await over(page)
    return page
  }

  test('the task is the title and the first message; the end is told once, and so are the tokens', async () => {
    const page = await open(putRun('run', first))
    expect(await page.locator('#task').innerText()).toBe('Mend the clock')
    expect(await page.title()).toBe('Mend the clock · sluice')
    const opening = page.locator('article').first()
    expect(await opening.locator('.asked').innerText()).toBe('Mend the clock\nin winter, too')
    expect(await opening.getAttribute('data-id')).toBe('1.0')
    // It has an address like any other message.
    await opening.click()
    expect(page.url()).toMatch(/#run\/run\/1\.0$/)
    await page.keyboard.press('G')
    const text = await page.locator('main').innerText()
    expect(text.match(/1,200 in, 34 out/g)).toHaveLength(1)
    expect(text.match(/turn ended well/g)).toHaveLength(1)
    expect(await page.locator('article[data-kind=status]').count()).toBe(0)
  })

  test('a prompt in the events is not told twice', async () => {
    const page = await open(
      putRun('run', [first[0], ['user.message', { text: 'Mend the clock.' }], ...second.slice(2)]),
    )
    expect(await page.locator('.asked').allInnerTexts()).toEqual(['Mend the clock.'])
  })

  test('commands are shown as typed; good ones in a row are folded, a failed one is open at its end', async () => {
    const page = await open(putRun('run', first))
    const group = page.locator('article[data-kind=group]')
    expect(await group.innerText()).toMatch(/3 commands\s*npm ci · npm run build · git status/)
    const failed = page.locator('article[data-outcome=failed]')
    expect(await failed.locator('summary').innerText()).toMatch(/^\$\s*npm test\s*failed · exit 1/)
    expect(await failed.locator('pre').innerText()).toMatch(/^line 27\n[\s\S]*expected 3, got 2$/)
    await failed.locator('.more', { hasText: 'Show all 41 lines' }).click()
    expect(await failed.locator('pre').innerText()).toContain('line 0\n')
    expect(await page.locator('main').innerText()).not.toContain('/bin/bash')
    // By mouse and by key.
    const calls = page.locator('article[data-kind=tool] .name', { hasText: '$' })
    await group.locator('button').click()
    await expect.poll(() => calls.count()).toBe(4)
    expect(await group.locator('button').getAttribute('aria-expanded')).toBe('true')
    await group.locator('button').click()
    await expect.poll(() => calls.count()).toBe(1)
    await page.locator('#conversation').focus()
    for (const key of 'gjj') await page.keyboard.press(key)
    expect(await page.locator('article.chosen').getAttribute('data-kind')).toBe('group')
    await page.keyboard.press('Enter')
    await expect.poll(() => calls.count()).toBe(4)
    // A call inside a folded group has an address.
    await page.goto(`${page.url().split('#')[0]}#run/run/1.8`)
    await expect.poll(() => page.locator('article.chosen .text').innerText()).toBe('git status')
  })

  test('written files, edits and code are coloured text, not JSON', async () => {
    const page = await open(putRun('run', first))
    const code = page.locator('article[data-kind=message] pre')
    expect(await code.locator('.comment').innerText()).toBe('// winter')
    expect(await code.locator('.number').innerText()).toBe('3')
    await page.keyboard.press('f')
    const call = (name: string) => page.locator('article[data-kind=tool]', { hasText: name })
    // Only what is near the visible part is in the document.
    await page.evaluate("document.getElementById('conversation').scrollTop = 1e9")
    const written = call('src/clock.ts').locator('pre').first()
    expect(await written.innerText()).toBe('// The hour\nexport const hour = 3\n')
    expect(await written.locator('.comment').innerText()).toBe('// The hour')
    expect(await written.locator('.keyword').allInnerTexts()).toEqual(['export', 'const'])
    // A short file is not left out because its path has the same letter.
    expect(await call('x.txt').locator('pre').first().innerText()).toBe('x')
    const edited = call('src/zone.ts').locator('.diff')
    expect(await edited.locator('.removed').innerText()).toBe('-let a = 1\n')
    expect(await edited.locator('.added .quoted').innerText()).toBe('"two"')
  })

  test('the bytes are asked for when the reader asks for them', async () => {
    const { url } = await serving(putRun('run', first))
    const page = await pages.open(url)
    const asked: string[] = []
    page.on('request', (sent) => sent.url().includes('/raw/') && asked.push(sent.url()))
    await over(page)
    await page.keyboard.press('j')
    expect(await page.locator('#raw').isVisible()).toBe(false)
    expect(asked).toEqual([])
    const bytes = page.getByRole('button', { name: 'Bytes', exact: true })
    expect(await bytes.getAttribute('aria-expanded')).toBe('false')
    await bytes.click()
    await page.locator('#bytes .row').waitFor()
    expect(await page.evaluate('document.activeElement.id')).toBe('bytes')
    await page.keyboard.press('b')
    expect(await page.locator('#raw').isVisible()).toBe(false)
  })

  test('a request is shown with its choices and its answer, and one without an answer above all', async () => {
    const page = await open(putRun('run', first))
    const card = page.locator('article[data-kind=request]')
    expect(await card.innerText()).toMatch(
      /May it use Bash\?\s*rm -r build\s*The model says: tidy up\s*● Allow once\s*○ Reject\s*answered: Allow once/,
    )
    expect(await card.locator('.chosen').innerText()).toBe('● Allow once')
    expect(await page.locator('#waits').isVisible()).toBe(false)
    const words = { request: 'Bash: rm -r build' }
    const waiting = await open(putRun('run', [...first.slice(0, 9), asks, ended('needs_input', words)]))
    const bar = waiting.locator('#waits', { hasText: 'build' })
    await bar.waitFor()
    expect(await bar.innerText()).toMatch(/Waits for an answer\s*Bash: rm -r build/)
    await bar.click()
    expect(await waiting.locator('article.chosen').getAttribute('data-kind')).toBe('request')
    expect(await waiting.locator('article.chosen').innerText()).toContain('waits for an answer')
  })

  test('an answered question marks its answer; a patch to allow is a diff, without ids', async () => {
    const question = {
      ...{ id: '1:1', kind: 'question', tool: 'ask', title: 'Which colour?', options: [] },
      questions: [{ id: 'c', question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }],
    }
    const changes = [{ path: 'a.ts', kind: { type: 'add' }, diff: 'let a = 1' }]
    const patch = { ...request, id: '1:2', tool: 'file_change', input: { call_id: 'c77', changes } }
    const answers = { status: 'request_settled', request_id: '1:1', by: 'user', answers: ['Blue'] }
    const page = await open(
      putRun('run', [
        ['lifecycle.run.status', { status: 'request_opened', request: question }],
        ['lifecycle.run.status', answers],
        ['lifecycle.run.status', { status: 'request_opened', request: patch }],
        ended('needs_input'),
      ]),
    )
    const cards = page.locator('.request')
    expect(await cards.nth(0).innerText()).toMatch(/^Which colour\?\s*○ Red\s*● Blue\s*answered: Blue$/)
    expect(await cards.nth(1).locator('.fields').allInnerTexts()).toEqual(['+ a.ts'])
    expect(await cards.nth(1).locator('.diff').innerText()).toBe('+let a = 1\n')
    expect(await cards.nth(1).innerText()).not.toMatch(/c77|\{/)
  })

  test('the reason of a failure that is only on stderr is above the run', async () => {
    const page = await open(
      putRun('run', [
        ['raw.stderr', { line: 'Error: no such file: rules.toml' }],
        ended('failed', { exit_code: 1, end_signal: null }),
      ]),
    )
    await page.locator('#problems', { hasText: '1 problem' }).waitFor()
    expect(await page.locator('#problems-first').innerText()).toBe('Error: no such file: rules.toml')
  })

  test('an address of no run says so; from the first place in a run one "back" leads to the list', async () => {
    const dir = putRun('run', first)
    const { url } = await serving(dir)
    // The browser itself reports a 404.
    const page = await pages.bare()
    await page.goto(`${url}#run/no-such-run`)
    await over(page)
    expect(await page.locator('#task').innerText()).toBe('This run is not here')
    expect(await page.locator('#empty').innerText()).toContain('no-such-run')
    expect(await page.locator('.acts:visible, #seek:visible, #state:visible').count()).toBe(0)
    putLargeRun(dir, 'other', 20)
    const list = await pages.open(url)
    await list.getByRole('link', { name: 'Mend the clock' }).click()
    await over(list)
    expect(await list.locator('#empty').isVisible()).toBe(false)
    await list.keyboard.press('p')
    await expect.poll(() => list.url()).toMatch(/\/1\.\d+$/)
    await list.keyboard.press('b')
    for (const row of await list.locator('#bytes .row').all()) await row.click()
    await list.goBack()
    await expect.poll(() => list.locator('#list').isVisible()).toBe(true)
    // The time is written as in the list.
    const when = await list.locator('#runs tr', { hasText: 'Mend the clock' }).locator('.when').innerText()
    await list.getByRole('link', { name: 'Mend the clock' }).click()
    await over(list)
    expect(await list.locator('#facts').innerText()).toContain(when)
  })

  test('a reply goes on with the conversation; another attempt is named', async () => {
    const page = await open(putRun('run', first, second))
    expect(await page.locator('.asked').allInnerTexts()).toEqual([
      'Mend the clock\nin winter, too',
      'now make it fast',
    ])
    expect(await page.locator('.attempt').count()).toBe(0)
    const again = await open(putRun('run', second, first))
    await again.keyboard.press('1')
    expect(await again.locator('.attempt').allInnerTexts()).toEqual(['Attempt 2'])
  })

  test('a thought begins with its title, drawn as Markdown and told once', async () => {
    const page = await open(putRun('run', first))
    const thought = page.locator('article[data-kind=reasoning]')
    expect(await thought.locator('summary strong').innerText()).toBe('Checking')
    expect(await thought.locator('summary code').innerText()).toBe('clock')
    await thought.locator('summary').click()
    expect(await thought.locator('.said').innerText()).toBe('It may be slow.')
  })

  test('an exported run has no list, and no way to one', async () => {
    const dir = putRun('run', first)
    const file = join(dir, 'run.html')
    let html = ''
    for await (const text of exportRun(join(dir, 'run'), { to: 'html' })) html += text
    writeFileSync(file, html)
    const page = await pages.bare()
    await page.goto(pathToFileURL(file).href)
    await over(page)
    expect(await page.locator('#task').innerText()).toBe('Mend the clock')
    expect(await page.locator('#list').isVisible()).toBe(false)
    expect(await page.locator('#to-runs').isVisible()).toBe(false)
    await page.keyboard.press('r')
    expect(await page.locator('#list').isVisible()).toBe(false)
    expect(await page.locator('.asked').innerText()).toBe('Mend the clock\nin winter, too')
  })
})
