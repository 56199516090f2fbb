import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { markdown } from '../../src/streams/views.ts'
import { markdownStage, markdownWriter } from '../../src/views/markdown/markdown.ts'
import { codeSpan, fenced, safeMarkdown } from '../../src/views/markdown/safe.ts'
import { whyOf } from '../../src/views/why.ts'
import { runs, slow } from '../pace.ts'
import { chosenRuns } from './chosen-runs.ts'
import { recordedRun } from './fixtures.ts'

function event(type: AgentEvent['type'], data: object, seq = 1): AgentEvent {
  const [first] = recordedRun('codex/03b-tool-fail.pipe').events
  return { ...first, type, seq, data, event: { category: type.split('.')[0], type } } as unknown as AgentEvent
}

const textOf = (events: readonly AgentEvent[], options = {}) => drive(markdownStage(options), events)[0]!

function briefOf(events: readonly AgentEvent[], task?: string): string {
  const written = markdownWriter({ brief: true })
  const reason = whyOf()
  for (const each of events) {
    written.write(each)
    reason.write(each)
  }
  return written.text({ task, why: reason.why() })
}

describe('a run as Markdown', () => {
  test('says how it ended and what went wrong first, then what happened', () => {
    expect(textOf(recordedRun('codex/03b-tool-fail.pipe').events)).toBe(`## codex run: finished

session \`01a1dca5-c0d6-7f61-ac78-e00e8de59bc0\`

**The turn ended well** · 1 turn · 1 tool call (1 failed) · 2,400 tokens in (2,000 cached) · 68 out

First problem: \`command_execution exit 3 failed: ls: cannot access './does-not-exist': No such file or directory\`

✗ **command_execution** \`echo partial; ls ./does-not-exist; exit 3\` (failed, exit 3)

\`\`\`
partial
ls: cannot access './does-not-exist': No such file or directory
\`\`\`

The command failed with exit code 3.

---

1 warning · 1 line of output that is not an event left out
`)
  })

  test('folds the prompt, the thoughts, the output of a good call and the diffs', () => {
    const text = textOf([
      event('user.message', { text: 'Fix ```it```' }, 1),
      event('agent.reasoning.summary', { message_id: 'r', text: 'hm' }, 2),
      event('tool.call.started', { call_id: 'c', name: 'Bash', input: { command: 'echo "<b>"' } }, 3),
      event(
        'tool.call.completed',
        { call_id: 'c', name: 'Bash', output: 'a\n</details>\n````\n', duration_ms: 1400 },
        4,
      ),
      event('artifact.modified', { path: 'a.ts', diff: '-a\n+b' }, 5),
    ])
    expect(text).toContain('<details><summary>Prompt</summary>\n\n````\nFix ```it```\n````\n\n</details>')
    expect(text).toContain('<details><summary>Thoughts</summary>\n\nhm\n\n</details>')
    expect(text).toContain(
      '<details><summary>✓ Bash <code>echo "&lt;b&gt;"</code> (1.4 s)</summary>\n\n`````\na\n</details>\n````\n`````\n\n</details>',
    )
    expect(text).toContain(
      '<details><summary>modified <code>a.ts</code></summary>\n\n```diff\n-a\n+b\n```\n\n</details>',
    )
    expect(text).toContain('run: not over')
  })

  test('shows the last lines of a failed call, and calls that never ended', () => {
    const output = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n')
    const text = textOf([
      event(
        'tool.call.failed',
        { call_id: 'c', name: 'Bash', input: { command: 'x' }, output, exit_code: 2 },
        1,
      ),
      event('tool.call.started', { call_id: 'd', name: 'Bash', input: { command: 'sleep 9' } }, 2),
    ])
    expect(text).toContain('…\nline 28\n')
    expect(text).not.toContain('line 27')
    expect(text).toContain('… `sleep 9` did not end')
  })

  test.runIf(slow)('is bounded: the middle of a long run is left out, and counted', () => {
    const events = Array.from({ length: 5000 }, (_, i) =>
      event('agent.message.final', { message_id: `m${i}`, text: `message ${i} ${'x'.repeat(100)}` }, i + 1),
    )
    const text = textOf(events)
    expect(text.length).toBeLessThan(62_000)
    expect(text).toContain('message 0 ')
    expect(text).toContain('message 4999 ')
    expect(text).toMatch(/… 4,\d{3} parts of the run left out here …/)
    expect(
      textOf([event('agent.message.final', { message_id: 'm', text: 'y'.repeat(1e6) })]).length,
    ).toBeLessThan(20_000)
  })

  test('of every chosen run has closed fences and folds, and no HTML but ours', () => {
    for (const { name, events } of chosenRuns()) {
      for (const text of [textOf(events), briefOf(events).replaceAll(/^> ?/gm, '')]) {
        expect(htmlIn(text), name).toEqual([])
        expect(openFence(text), name).toBe('')
      }
    }
  })

  test('is brief without the work that went well: task, problems, answer, files', () => {
    const text = briefOf(
      [
        event('agent.reasoning.summary', { message_id: 'r', text: 'a thought' }, 1),
        event('agent.message.final', { message_id: 'm', text: 'I look.' }, 2),
        event('tool.call.completed', { call_id: 'c', name: 'Bash', input: 'ls', output: 'a' }, 3),
        event('tool.call.failed', { call_id: 'd', name: 'Bash', input: 'npm test', output: '1 failed' }, 4),
        event('artifact.modified', { path: 'a.ts', diff: '-a\n+b' }, 5),
        event('artifact.created', { path: 'b.ts' }, 6),
        event('agent.message.final', { message_id: 'n', text: 'Mended.' }, 7),
      ],
      'fix the test',
    )
    expect(text.slice(text.indexOf('First'))).toBe(`First problem: \`Bash failed: 1 failed\`

Task: \`fix the test\`

> Mended.

✗ **Bash** \`npm test\` (failed)

\`\`\`
1 failed
\`\`\`

<details><summary>modified <code>a.ts</code></summary>

\`\`\`diff
-a
+b
\`\`\`

</details>

---

Files: \`a.ts\`, \`b.ts\`
`)
    expect(briefOf([], 'one\ntwo')).toContain('<summary>Prompt</summary>\n\n```\none\ntwo\n```')
  })

  test('is a flow, too', async () => {
    const source = new PassThrough({ objectMode: true })
    source.end(event('agent.message.final', { message_id: 'm', text: 'hello' }))
    expect(await source.pipe(markdown()).toArray()).toEqual([expect.stringContaining('\n\nhello\n')])
  })
})

describe('text of an agent', () => {
  test.each([
    ['<img src=x onerror=alert(1)>', '&lt;img src=x onerror=alert(1)>'],
    ['`Array<string>` and <b>', '`Array<string>` and &lt;b>'],
    ['```ts\nconst a: Array<string>\n```\n<b>', '```ts\nconst a: Array<string>\n```\n&lt;b>'],
    ['~~~\n<b>', '~~~\n<b>\n~~~'],
    ['~~~\n<b>\n ~~~~\t\u00a0\n<i>', '~~~\n<b>\n~~~\n&lt;i>'],
    ['a `\nb` <i> `c', 'a `\nb` &lt;i> `c'],
    ['\\`<i>`', '\\`&lt;i>`'],
    ['- a\n  ```\n<i>', '- a\n  ```\n&lt;i>'],
    ['![x](https://example.com/x.png)', '!\\[x](https://example.com/x.png)'],
    ['a\u001b[31mb\u0000', 'a[31mb'],
  ])('%j is safe', (text, safe) => {
    expect(safeMarkdown(text)).toBe(safe)
  })

  test('no text gets out of a fence, a code span or its place', () => {
    const texts = fc
      .array(
        fc.constantFrom(
          '`',
          '``',
          '```',
          '````',
          '~~~',
          '<b>',
          '</details>',
          '\n',
          ' ',
          'a',
          '\\',
          '- ',
          '    ',
        ),
        { maxLength: 30 },
      )
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(texts, (text) => {
        expect(openFence(fenced(text))).toBe('')
        expect(
          fenced(text)
            .split('\n')
            .slice(1, -1)
            .some((line) => line.startsWith(fenced(text).split('\n')[0]!)),
        ).toBe(false)
        const span = codeSpan(text)
        if (span !== '') {
          const marks = span.length - span.replace(/^`+/, '').length
          expect(span.slice(marks, -marks).split(/[^`]+/)).not.toContain('`'.repeat(marks))
        }
        expect(openFence(safeMarkdown(text))).toBe('')
        expect(htmlIn(safeMarkdown(text))).toEqual([])
      }),
      { numRuns: runs(1000) },
    )
  })
})

/** The fence that is open at the end, if one is; only fences that begin their line. */
function openFence(text: string): string {
  let fence = ''
  for (const line of text.split('\n')) {
    const marks = /^(`{3,}|~{3,})(.*)$/.exec(line)
    if (fence === '') {
      if (marks && !(marks[1]![0] === '`' && marks[2]!.includes('`'))) fence = marks[1]!
    } else if (line.trim().startsWith(fence) && /^(`+|~+)$/.test(line.trim()) && /^ {0,3}\S/.test(line))
      fence = ''
  }
  return fence
}

/** Tags outside of fences and code that are not ours. */
function htmlIn(text: string): string[] {
  let fence = ''
  const found: string[] = []
  for (const line of text.split('\n')) {
    const inside = fence !== ''
    fence = openFence(fence === '' ? line : `${fence}\n${line}`)
    if (inside || fence !== '') continue
    const plain = line.replace(/(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g, '')
    found.push(...(plain.match(/<(?!\/?(?:details|summary|code)>)/g) ?? []))
  }
  return found
}
