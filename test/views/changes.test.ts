import { describe, expect, test } from 'vitest'
import type { AgentEvent, EventData, EventType } from '../../src/events/event.ts'
import { Changes, unifiedDiff } from '../../src/views/changes.ts'
import { Conversation } from '../../src/views/conversation.ts'
import { makeRun } from './make-run.ts'

type Steps = Parameters<typeof makeRun>[0]

function changesOf(events: readonly AgentEvent[]) {
  const talk = new Conversation()
  const changes = new Changes()
  for (const event of events) changes.take(event, talk.take(event))
  return changes.files()
}

/** A call that edits, and what is told of it. */
const edits = (...inputs: unknown[]): Steps =>
  inputs.flatMap((input, at): Steps => {
    const call = { call_id: `c${at}`, name: 'Edit', kind: 'edit', input } as const
    return [
      ['tool.call.started', call],
      ['tool.call.completed', { ...call, output: 'done' }],
    ]
  })
const told = <T extends EventType>(type: T, data: EventData[T]) => [type, data] as never

describe('what a run changed', () => {
  test.each<[string, unknown, string, string]>([
    ['Claude Code', { file_path: '/w/a.ts', old_string: 'a\n', new_string: 'b\nc' }, '/w/a.ts', '-a\n+b\n+c'],
    ['OpenCode', { filePath: '/w/a.ts', oldString: 'a', newString: '' }, '/w/a.ts', '-a'],
    ['Amp', { path: 'a.ts', old_str: 'a', new_str: 'b' }, 'a.ts', '-a\n+b'],
    ['a file that is written', { file_path: 'a.ts', content: 'x\ny\n' }, 'a.ts', '+x\n+y'],
    ['Cursor', { path: 'a.ts', fileText: 'x' }, 'a.ts', '+x'],
    ['pi', { path: 'a.ts', edits: [{ oldText: 'a', newText: 'b' }] }, 'a.ts', '-a\n+b'],
    ['ACP', { changes: [{ path: 'a.ts', oldText: null, newText: 'n' }] }, 'a.ts', '+n'],
    [
      'Codex, a file that is new',
      { changes: [{ path: 'a.ts', kind: { type: 'add' }, diff: 'n\n' }] },
      'a.ts',
      '+n',
    ],
    [
      'Codex, by path',
      { changes: { 'a.ts': { type: 'update', unified_diff: '@@ -1 +1 @@\n-a\n+b' } } },
      'a.ts',
      '@@ -1 +1 @@\n-a\n+b',
    ],
    ['a patch', '*** Begin Patch\n*** Update File: a.ts\n@@\n-a\n+b\n*** End Patch', 'a.ts', '@@\n-a\n+b'],
    ['a patch in a field', { input: '*** Begin Patch\n*** Add File: a.ts\n+b\n*** End Patch' }, 'a.ts', '+b'],
  ])('is read from the edits of %s', (_, input, path, diff) => {
    expect(changesOf(makeRun(edits(input)))).toEqual([{ path, edits: [{ event: '1.1', diff }] }])
  })

  test('has all edits of a file, in order, under the name that its change is told with', () => {
    const input = (from: string, to: string) => ({
      file_path: '/w/src/a.ts',
      old_string: from,
      new_string: to,
    })
    const steps = edits(input('1', '2'), input('2', '3'))
    const last = told('artifact.modified', { path: 'src/a.ts', diff: '@@ -1 +1 @@\n-2\n+3' })
    const files = changesOf(makeRun([...steps, last]))
    expect(files).toEqual([
      {
        path: 'src/a.ts',
        change: 'modified',
        edits: [
          { event: '1.1', diff: '-1\n+2' },
          { event: '1.3', diff: '-2\n+3' },
        ],
      },
    ])
    expect(unifiedDiff(files)).toBe(
      'diff --git a/src/a.ts b/src/a.ts\n--- a/src/a.ts\n+++ b/src/a.ts\n@@ edit 1 of 2 @@\n-1\n+2\n@@ edit 2 of 2 @@\n-2\n+3\n',
    )
    // The last one has the numbers of its lines: if it is the only one, it says more.
    const [only] = changesOf(makeRun([...edits(input('2', '3')), last]))
    expect(only?.edits.map(({ diff }) => diff)).toEqual(['@@ -1 +1 @@\n-2\n+3'])
  })

  test('takes the diff of the working tree in place of the edits, and gives it out as it is', () => {
    const whole =
      'diff --git a/a.ts b/a.ts\nnew file mode 100644\n--- /dev/null\n+++ b/a.ts\n@@ -0,0 +1 @@\n+3\n'
    const steps = edits({ path: 'a.ts', content: '1' }, { path: 'a.ts', content: '3' })
    const end = told('artifact.created', { path: 'a.ts', diff: whole, whole: true })
    const files = changesOf(makeRun([...steps, end, told('artifact.deleted', { path: 'b.ts' })]))
    expect(files.map(({ path, edits: all }) => [path, all.length])).toEqual([
      ['a.ts', 1],
      ['b.ts', 0],
    ])
    expect(unifiedDiff(files)).toBe(
      `${whole}diff --git a/b.ts b/b.ts\n# deleted, and neither the agent nor git told how\n`,
    )
  })

  test('leaves out calls that failed, and what only reads', () => {
    const input = { path: 'a.ts', old_str: 'a', new_str: 'b' }
    const call = { call_id: 'a', name: 'edit', kind: 'edit', input } as const
    const read = { call_id: 'b', name: 'read', kind: 'read', input: { path: 'a.ts', content: 'x' } } as const
    expect(
      changesOf(
        makeRun([
          ['tool.call.failed', { ...call, error: 'no' }],
          ['tool.call.completed', read],
        ]),
      ),
    ).toEqual([])
  })

  test('is bounded: a long edit is cut', () => {
    const [file] = changesOf(makeRun(edits({ path: 'a.ts', content: 'x'.repeat(100_000) })))
    expect(file?.edits[0]?.diff).toHaveLength(65_536)
  })
})
