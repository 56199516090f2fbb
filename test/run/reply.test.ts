import { expect, test } from 'vitest'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { nextCommand } from '../../src/run/reply.ts'

const turn = { argv: ['gemini', '-o', 'stream-json'], engine: gemini, piped: true, talk: false }

test.each(['latest', 'Latest', 'last', '1', '42', '--last', 'a b', ''])(
  'a session called %j would be another one, or an option',
  (session) => expect(() => nextCommand({ ...turn, session }, 'go on')).toThrow(/which no agent gives/),
)

test('a session id that begins or ends like such a word is one', () => {
  for (const session of ['1f0c', 'latest-1', '01a1ee24-09a1-7cc3-92d1-6be52b7d35e0'])
    expect(nextCommand({ ...turn, session }, 'go on').at(-1)).toContain(session)
})
