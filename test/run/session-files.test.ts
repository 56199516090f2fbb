import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { sessionFiles } from '../../src/run/session-files.ts'
import { isSessionOf, readHead, summarise } from '../../src/run/session-summary.ts'
import { lines } from '../engines/run.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sluice-home-'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true })
})

/** Writes a file of the home directory; `at` is when, in seconds since 1970. */
function put(path: string, text = '{}\n', at = 1000): string {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  utimesSync(file, at, at)
  return file
}

const found = (options = {}) => sessionFiles({ home, ...options }).map(({ engine, path }) => [engine, path])

describe('sessionFiles', () => {
  test('finds the files of every engine, the newest first, and nothing else', () => {
    const files = [
      ['claude', put('.claude/projects/-a/s.jsonl', '', 7)],
      ['codex', put('.codex/sessions/2026/11/15/rollout-x.jsonl', '', 6)],
      ['gemini', put('.gemini/tmp/a/chats/session-1.jsonl', '', 5)],
      ['qwen', put('.qwen/projects/-a/chats/s.jsonl', '', 4)],
      ['copilot', put('.copilot/session-state/s/events.jsonl', '', 3)],
      ['pi', put('.pi/agent/sessions/--a--/t_s.jsonl', '', 2)],
      ['cline', put('.cline/data/sessions/s/s.messages.json', '', 1)],
    ]
    put('.claude/projects/-a/agent-1.jsonl')
    put('.claude/settings.json')
    put('.codex/history.jsonl')
    put('.codex/sessions/2026/11/15/other.jsonl')
    put('.cline/data/sessions/s/s.json')
    expect(found()).toEqual(files)
    expect(found({ engine: 'pi' })).toEqual([files[5]])
  })

  test('an empty home has none', () => {
    expect(found()).toEqual([])
  })

  test('follows no link, and looks at no more entries than allowed', () => {
    put('elsewhere/s.jsonl')
    mkdirSync(join(home, '.claude/projects'), { recursive: true })
    symlinkSync(join(home, 'elsewhere'), join(home, '.claude/projects/-a'))
    expect(found()).toEqual([])
    for (let day = 10; day < 20; day++) put(`.codex/sessions/2026/11/${day}/rollout-x.jsonl`)
    const some = sessionFiles({ home, maxEntries: 6 }).map(({ path }) => path)
    expect(some.length).toBeLessThan(4)
    expect(some).toContain(join(home, '.codex/sessions/2026/11/19/rollout-x.jsonl'))
  })

  test('asks the variables of the engines, but not when a home is given', () => {
    const path = put('moved/sessions/2026/11/15/rollout-x.jsonl')
    vi.stubEnv('CODEX_HOME', join(home, 'moved'))
    expect(sessionFiles({ engine: 'codex' }).map((file) => file.path)).toEqual([path])
    expect(found()).toEqual([])
  })
})

describe('summarise', () => {
  const say = (text: string) => ({
    timestamp: '2026-11-15T13:00:02Z',
    type: 'event_msg',
    payload: { type: 'agent_message', message: text },
  })
  const event = (type: string, more = {}) => ({
    timestamp: '2026-11-15T13:00:01Z',
    type: 'event_msg',
    payload: { type, ...more },
  })
  const meta = {
    timestamp: '2026-11-15T13:00:00Z',
    type: 'session_meta',
    payload: { id: 's', cwd: '/srv/repo' },
  }
  const rollout = (...records: object[]) => {
    put('.codex/sessions/2026/11/15/rollout-x.jsonl', lines(meta, ...records))
    return summarise(sessionFiles({ home })[0]!)!
  }

  test('tells engine, directory, start, turns and outcome', () => {
    const turn = [event('task_started'), say('hi'), event('task_complete', { last_agent_message: 'hi' })]
    expect(rollout(...turn, ...turn)).toMatchObject({
      engine: 'codex',
      session_id: 's',
      directory: '/srv/repo',
      started_at: '2026-11-15T13:00:00Z',
      updated_at: '1970-01-01T00:16:40.000Z',
      turns: 2,
      outcome: 'finished',
    })
  })

  test('a done marker of a turn before says nothing about the last turn', () => {
    const marker = say('```json\n{"__SKILL_DONE__": true}\n```')
    expect(rollout(event('task_started'), marker).outcome).toBe('succeeded')
    expect(rollout(event('task_started'), marker, event('task_started'), say('…')).outcome).toBe('unknown')
  })

  test('the file of a subagent was a session of its own, and the newest', () => {
    const inner = [
      { source: { subagent: { thread_spawn: { parent_thread_id: 'a', depth: 1 } } } },
      { source: { subagent: 'review' } },
      { thread_source: 'subagent' },
    ].map((more) => ({ ...meta, payload: { ...meta.payload, ...more } }))
    for (const line of inner) {
      put('.codex/sessions/2026/11/15/rollout-y.jsonl', lines(line, say('part')))
      const [file] = sessionFiles({ home })
      expect(summarise(file!)).toBe(undefined)
      expect(isSessionOf(file!, String(meta.payload.cwd))).toBe(false)
    }
    put('.gemini/tmp/a/chats/session-1.jsonl', lines({ sessionId: 's', kind: 'subagent' }), 2000)
    expect(summarise(sessionFiles({ home })[0]!)).toBe(undefined)
  })

  test('a file that is no session, or is gone, tells nothing', () => {
    const path = put('.claude/projects/-a/s.jsonl', 'no session\n')
    const [file] = sessionFiles({ home })
    expect(summarise(file!)).toMatchObject({
      session_id: null,
      directory: null,
      turns: 0,
      outcome: 'unknown',
    })
    rmSync(path)
    expect(readHead(file!)).toEqual({ directory: null, started_at: null })
    expect(summarise(file!)).toMatchObject({ turns: null, outcome: 'unknown' })
  })

  test('a line that is only half written is no failure', () => {
    const whole = lines(meta, event('task_started'))
    put('.codex/sessions/2026/11/15/rollout-x.jsonl', `${whole}${lines(say('hi')).slice(0, 40)}`)
    expect(summarise(sessionFiles({ home })[0]!)).toMatchObject({ turns: 1, outcome: 'unknown' })
    put('.codex/sessions/2026/11/15/rollout-x.jsonl', lines(meta).slice(0, 40))
    expect(summarise(sessionFiles({ home })[0]!)).toMatchObject({ turns: 0, outcome: 'unknown' })
  })

  test('the session of a resumed file is the one that it goes on with', () => {
    const line = (uuid: string, sessionId: string) => ({
      ...{ type: 'user', uuid, parentUuid: null, sessionId, message: { role: 'user', content: 'hi' } },
    })
    put('.claude/projects/-a/new.jsonl', lines(line('u1', 'old'), line('u2', 'new')))
    expect(summarise(sessionFiles({ home })[0]!)!.session_id).toBe('new')
  })

  test('times that are none do not break the list', () => {
    put('.cline/data/sessions/s/s.messages.json', '{}')
    put('.cline/data/sessions/s/s.json', JSON.stringify({ started_at: 'soon', cwd: '/srv/c' }))
    const [file] = sessionFiles({ home })
    expect(readHead(file!)).toEqual({ directory: '/srv/c', started_at: null })
    expect(summarise({ ...file!, modified: 9e15 })!.updated_at).toBe('1970-01-01T00:00:00.000Z')
  })

  test('a session is of a directory by any of its names, in Gemini 0.20 by its hash', () => {
    mkdirSync(join(home, 'work'))
    symlinkSync(join(home, 'work'), join(home, 'link'))
    rollout()
    const of = (dir: string) => isSessionOf(sessionFiles({ home })[0]!, dir)
    expect([of('/srv/repo'), of('/srv'), of('')]).toEqual([true, false, false])
    put(
      '.codex/sessions/2026/11/15/rollout-x.jsonl',
      lines({ ...meta, payload: { cwd: join(home, 'link') } }),
    )
    expect([of(join(home, 'work')), of(join(home, 'link'))]).toEqual([true, true])
    rmSync(join(home, '.codex'), { recursive: true })
    const project = createHash('sha256').update('/srv/old').digest('hex')
    put(`.gemini/tmp/${project}/chats/session-1.json`, '{\n  "sessionId": "g",\n  "messages": []\n}\n')
    expect([of('/srv/old'), of('/srv/new')]).toEqual([true, false])
  })

  test('Cline tells its end in the manifest, Gemini its directory beside the chats', () => {
    const messages = { version: 1, updated_at: 't', agent: 'lead', sessionId: 's', messages: [] }
    put('.cline/data/sessions/s/s.messages.json', JSON.stringify(messages))
    put('.cline/data/sessions/s/s.json', JSON.stringify({ cwd: '/srv/c', status: 'cancelled' }))
    const head = { sessionId: 'g', projectHash: 'h', startTime: '2026-11-15T13:00:00Z', kind: 'main' }
    put('.gemini/tmp/a/chats/session-1.jsonl', lines(head))
    put('.gemini/tmp/a/.project_root', '/srv/g')
    const [gemini, cline] = ['gemini', 'cline'].map((engine) =>
      summarise(sessionFiles({ home }).find((file) => file.engine === engine)!),
    )
    expect(gemini).toMatchObject({ directory: '/srv/g', started_at: '2026-11-15T13:00:00Z', session_id: 'g' })
    expect(cline).toMatchObject({ directory: '/srv/c', outcome: 'cancelled' })
  })
})
