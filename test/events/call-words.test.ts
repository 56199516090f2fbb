import { expect, test } from 'vitest'
import { deedOf } from '../../src/events/call-words.ts'

test.each([
  ['run', { command: 'rm -f a', description: 'touch up the files' }, 'rm -f a'],
  ['run', { command: ['bash', '-lc', 'rm -f a'] }, 'rm -f a'],
  ['run', { commands: ['ls', 'pwd'] }, 'ls pwd'],
  ['run', { description: 'touch up the files', command: 'x'.repeat(400) }, `${'x'.repeat(299)}…`],
  ['Write', { file_path: '/w/a', content: 'x' }, 'Write /w/a'],
  ['edit', { fileName: 'a', diff: '+x' }, 'edit a'],
  ['edit', { filepath: '/w/a', diff: '+x' }, 'edit /w/a'],
  [
    'edit',
    {
      changes: [
        { path: 'a', kind: { type: 'add' } },
        { path: 'b', kind: 'update' },
      ],
    },
    'create a, edit b',
  ],
  ['edit', { changes: [{ path: 'a', kind: { type: 'update', move_path: 'b' } }] }, 'move a to b'],
  ['edit', { changes: [{ path: 'a', oldText: null, newText: 'x' }, { path: 'b' }] }, 'create a, edit b'],
  ['edit', { changes: { a: { type: 'delete' } } }, 'delete a'],
  ['agent', { description: 'look', prompt: 'p' }, 'agent {"description":"look","prompt":"p"}'],
  ['agent', undefined, 'agent'],
])('what %s would do with %j is %j', (tool, input, deed) => expect(deedOf(tool, input)).toBe(deed))
