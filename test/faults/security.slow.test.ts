import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ask } from '../../src/ask/ask.ts'
import { snapshots } from '../../src/ask/snapshots.ts'
import { Fault, quote } from '../../src/base/fault.ts'
import { Drawing } from '../../src/cli/draw/drawing.ts'
import { harmless } from '../../src/cli/print.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { judgePath } from '../../src/events/artifacts.ts'
import { readMeta } from '../../src/run/meta.ts'
import { replay } from '../../src/run/replay.ts'
import { pageFiles } from '../../src/serve/page.ts'
import { values } from '../../src/streams/values.ts'
import { tryParse } from '../../src/values/parse.ts'
import { settle } from '../../src/work/settle.ts'
import { chat, lines, run, texts } from '../engines/run.ts'
import { expectLinear } from '../growth.ts'
import { slow } from '../pace.ts'
import { putRun, ask as request, root, serving, shutAll } from '../serve/serving.ts'

afterEach(async () => {
  await shutAll()
  // Whatever a test did: no prototype has changed.
  const all = [{}, [], () => {}, '', 0] as { polluted?: unknown }[]
  expect(all.filter(({ polluted }) => polluted !== undefined)).toEqual([])
  expect(Object.keys(Object.prototype)).toEqual([])
})

const fresh = () => mkdtempSync(join(tmpdir(), 'sluice-security-'))

/**
 * Ten ways to write a key that reaches for a prototype; each is the inside of an object that also has
 * `"a":1`.
 */
const spellings = [
  '"a":1,"__proto__":{"polluted":1}',
  '"__proto__":{"polluted":1},"a":1',
  '"a":1,"\\u005f_proto__":{"polluted":1}',
  '"a":1,"__prot\\u006f__":{"polluted":1}',
  '"a":1,"\\u005F\\u005Fproto\\u005F\\u005F":{"polluted":1}',
  '"a":1,"constructor":{"prototype":{"polluted":1}}',
  '"a":1,"constr\\u0075ctor":{"protot\\u0079pe":{"polluted":1}}',
  '"a":1,"b":{"__proto__":{"polluted":1}}',
  '"a":1,"b":[[{"__proto__":{"polluted":1}}]]',
  '"a":1,"__proto__":{"__proto__":{"polluted":1}},"__proto__":[{"polluted":1}]',
]

const PLAIN = new Set([Object.prototype, Array.prototype, null])
const isPolluted = (value: object) => 'polluted' in value && !Object.hasOwn(value, 'polluted')

/**
 * Nothing in it inherits from anything but the two plain prototypes, and nothing says `polluted` by
 * inheritance.
 */
function expectPlain(value: unknown): void {
  const open = [value]
  for (let next = open.pop(); open.length > 0 || next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue
    // A matcher for each of thousands of objects takes longer than all else here.
    if (!PLAIN.has(Object.getPrototypeOf(next)) || isPolluted(next)) expect(next).toBe('plain')
    open.push(...Object.values(next))
  }
}

describe('a prototype key', () => {
  const schema = { type: 'object', required: ['a'] }
  const forms: [string, (inside: string) => string, object][] = [
    ['strict', (inside) => `{${inside}}`, {}],
    ['tagged', (inside) => `noise <json>{${inside}}</json> noise`, { tag: 'json' }],
    ['fenced', (inside) => `\`\`\`json\n{${inside}}\n\`\`\``, {}],
    ['in an envelope', (inside) => JSON.stringify({ response: `{${inside}}` }), {}],
    ['repaired', (inside) => `{${inside},}`, {}],
    ['repaired without quotes', (inside) => `{${inside.replaceAll('"', '')}}`, {}],
    ['partial', (inside) => `{${inside},"c":"x`, { partial: true }],
    ['partial and tagged', (inside) => `<json>{${inside},"c":[1,{"d":"`, { tag: 'json', partial: true }],
  ]
  test.each(forms)('does nothing to a value that is %s', async (form, textOf, options) => {
    for (const inside of spellings) {
      const text = textOf(inside)
      // Without quotes there are no escapes: a backslash is a character of the key, which is then another
      // one.
      const literal = form === 'repaired without quotes' && inside.includes('\\')
      for (const protoKeys of ['remove', 'error', 'keep'] as const) {
        const outcome = tryParse(text, { schema, protoKeys, ...options })
        if (!literal) expect(outcome.ok, `${protoKeys} ${inside}`).toBe(protoKeys !== 'error')
        if (!outcome.ok) continue
        expectPlain(outcome.value)
        expectPlain({ ...(outcome.value as object) })
        if (protoKeys === 'remove' && !literal)
          expect(JSON.stringify(outcome.value), inside).not.toContain('polluted')
      }
      const flow = values({ schema, ...options })
      flow.end(text)
      const [outcome] = await flow.toArray()
      if (outcome?.ok) expectPlain(outcome.value)
      if (literal) continue
      expect(outcome, inside).toMatchObject({ ok: true })
      expect(JSON.stringify(outcome!.ok && outcome!.value), inside).not.toContain('polluted')
    }
  })

  test('does nothing in the records of an engine, its payloads and its chat', () => {
    for (const inside of spellings) {
      const stdout =
        `{"type":"thread.started","thread_id":"t",${inside}}\n` +
        `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":${JSON.stringify(`<json>{${inside}}</json>`)},${inside}}}\n` +
        `{"type":"item.completed","item":{"id":"j","type":"mcp_tool_call","server":"s","tool":"t","arguments":{${inside}},"status":"completed",${inside}}}\n` +
        `{"type":"unknown",${inside}}\n{${inside}}\n`
      const events = run(codex, { stdout, exit: 0 }, { schema })
      expectPlain(events)
      expectPlain(chat(events))
      expect(texts(events), inside).toHaveLength(1)
    }
  })

  test('does nothing in the result of a worker', () => {
    for (const inside of spellings) {
      const text = `{"issue_ref":"i","run_id":"r","status":"ok","commit":"c","tests":"-",${inside}}`
      const settled = settle(
        {
          json: { state: 'read', text, bytes: text.length },
          conversation: { payload: JSON.parse(text), trusted: true },
        },
        { issue_ref: 'i', run_id: 'r', repo_dir: '/repo' },
        'r',
      )
      expectPlain(settled)
      expect(JSON.stringify(settled), inside).not.toContain('polluted')
    }
  })

  test('does nothing in growing snapshots', async () => {
    for (const inside of spellings) {
      const seen = snapshots()
      for (const piece of `{${inside}}`) {
        const progress = seen.push(piece)
        if (progress) expectPlain(progress.value)
      }
      async function* call() {
        yield* `{${inside}}`
      }
      let count = 0
      for await (const snapshot of ask.stream(() => call(), { prompt: 'p', schema })) {
        count++
        expectPlain(snapshot.value)
        expect(JSON.stringify(snapshot.value), inside).not.toContain('polluted')
      }
      expect(count, inside).toBeGreaterThan(0)
    }
  })

  test('does nothing in the files of an audit directory', async () => {
    const served = root()
    for (const [index, inside] of spellings.entries()) {
      const dir = fresh()
      writeFileSync(join(dir, 'stdout.1.log'), 'x\n')
      writeFileSync(join(dir, 'meta.1.json'), `{"engine":"codex","exit_code":0,"run_id":"r",${inside}}`)
      writeFileSync(join(dir, 'fs-diff.1.json'), `{"created":["n.txt"],"modified":{${inside}},${inside}}`)
      writeFileSync(
        join(dir, 'chunks.1.jsonl'),
        `{"channel":"stdout","from":0,"length":2,"ms":1,${inside}}\n`,
      )
      expectPlain(readMeta(join(dir, 'meta.1.json')))
      for await (const event of replay(dir)) expectPlain(event)
      rmSync(dir, { recursive: true })
      const path = putRun(served, `r${index}`, 1)
      writeFileSync(join(path, 'meta.1.json'), `{"engine":"codex","argv":["x"],${inside}}`)
    }
    // And over the wire of the server.
    const { url } = await serving(served)
    const answer = await request(`${url}runs`)
    expect([answer.status, answer.text.includes('polluted')]).toEqual([200, false])
    expect(answer.text).toContain(`r${spellings.length - 1}`)
  })
})

/** Escape sequences, C1, bidirectional controls, line ends and their lookalikes. */
const evil =
  'a\u001b[2J\u001b]0;t\u0007b\u009b31m\u0090q\rc\u202ed\u2066\u200f\u061c\u007f\u0085\u2028e\u0000f\b\nforged'
const steering = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/
const steeringOrLine = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

describe('control characters', () => {
  test('never reach the terminal through the drawn conversation', () => {
    const stdout = lines(
      { type: 'thread.started', thread_id: evil },
      ...['agent_message', 'reasoning'].map((type) => ({
        type: 'item.completed',
        item: { id: evil, type, text: evil },
      })),
      {
        type: 'item.completed',
        item: {
          id: 'c',
          type: 'command_execution',
          command: evil,
          aggregated_output: evil,
          exit_code: 1,
          status: 'failed',
        },
      },
      {
        type: 'item.completed',
        item: { id: 'f', type: 'file_change', changes: [{ path: evil, kind: 'add' }], status: 'completed' },
      },
      {
        type: 'item.completed',
        item: {
          id: 'm',
          type: 'mcp_tool_call',
          server: evil,
          tool: evil,
          arguments: { [evil]: evil },
          status: 'failed',
          error: { message: evil },
        },
      },
      { type: 'item.completed', item: { id: 'w', type: 'web_search', query: evil } },
      { type: 'error', message: evil },
      { type: 'turn.failed', error: { message: evil } },
      { type: evil, [evil]: evil },
    )
    const events = run(codex, { stdout, stderr: `${evil}\n`, exit: 1 }, { fsDiff: { created: [evil] } })
    const draw = new Drawing({ color: false, width: () => 4000, full: true, verbose: true })
    const drawn = events.map((event) => draw.write(event)).join('') + draw.end()
    expect(drawn.length).toBeGreaterThan(200)
    expect(drawn).not.toMatch(steering)
    // What is printed as JSON on a terminal.
    for (const event of events) expect(harmless(JSON.stringify(event))).not.toMatch(steeringOrLine)
  })

  test('are escaped in a fault and in what a schema says of a value', () => {
    expect(quote(evil, 500)).not.toMatch(steeringOrLine)
    expect(new Fault('BAD_OPTION', evil).message).not.toMatch(steeringOrLine)
    const text = JSON.stringify({ [evil]: 1, b: evil })
    for (const schema of [
      z.strictObject({ b: z.string() }),
      z.record(z.string(), z.number()),
      {
        '~standard': {
          version: 1 as const,
          vendor: 'test',
          validate(): never {
            throw new Error(evil)
          },
        },
      },
      { type: 'object', additionalProperties: false },
      { type: 'object', properties: { b: { type: 'number' } } },
    ]) {
      const outcome = tryParse(text, { schema })
      expect(outcome.ok).toBe(false)
      if (outcome.ok) continue
      expect(outcome.fault.message).not.toMatch(steeringOrLine)
      for (const error of outcome.fault.errors ?? []) expect(error.message).not.toMatch(steeringOrLine)
    }
    for (const bad of [evil, `{${evil}`, `<json>${evil}</json>`, `{"a":${evil}}`]) {
      const outcome = tryParse(bad)
      if (!outcome.ok) expect(outcome.fault.message).not.toMatch(steeringOrLine)
      for (const note of outcome.notes) expect(note.message).not.toMatch(steeringOrLine)
    }
  })

  test.runIf(slow)('are escaped in what the command says about a missing file', async () => {
    const main = new URL('../../src/cli/main.ts', import.meta.url).pathname
    const name = evil.replaceAll('\u0000', '')
    const said = await Promise.all(
      [
        ['values', name],
        ['replay', name],
        ['serve', name],
        ['events', '--engine', name],
      ].map(async (args) => {
        const child = spawn(process.execPath, ['--import', 'tsx', main, ...args], {
          stdio: ['ignore', 'pipe', 'pipe'],
        })
        let text = ''
        for (const stream of [child.stdout, child.stderr])
          stream.setEncoding('utf8').on('data', (part) => {
            text += part
          })
        const [code] = await once(child, 'close')
        return { args: args[0], code, text }
      }),
    )
    for (const { args, code, text } of said) {
      expect([args, code]).toEqual([args, 2])
      expect(text, args).not.toMatch(steering)
    }
  })

  test('never become markup on the page, and a line of the journal is one line', () => {
    const script = pageFiles.get('/page.js')!.text
    // Text is only ever set as text.
    for (const door of [
      'innerHTML',
      'outerHTML',
      'insertAdjacentHTML',
      'document.write',
      'eval(',
      'Function(',
      'srcdoc',
    ])
      expect(script).not.toContain(door)
    for (const event of run(codex, { stdout: `${evil}\n`, stderr: evil }))
      expect(JSON.stringify(event)).not.toMatch(/[\u0000-\u001f]/)
  })
})

describe('requests to the server', () => {
  test('cannot split a header, name another host or leave the directory', async () => {
    const dir = root()
    putRun(dir, 'r', 1)
    mkdirSync(join(dir, 'deep'))
    const { port } = await serving(dir)
    const raw = async (head: string) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(head)
      let text = ''
      socket.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      await once(socket, 'close')
      return Number(text.slice(9, 12))
    }
    const from = (path: string, host = 'localhost') =>
      raw(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    expect(await from('/runs')).toBe(200)
    for (const host of [
      'evil.example',
      'evil.example:80',
      'localhost.evil.example',
      '127.0.0.1.nip.io',
      'localhost@evil.example',
      'evil.example#localhost',
      '',
      '[::1].evil',
      '0x7f.1.evil',
    ])
      expect([403, 400], host).toContain(await from('/runs', host))
    expect(await raw('GET /runs HTTP/1.0\r\n\r\n')).toBe(403)
    expect([400, 403]).toContain(
      await raw('GET /runs HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n'),
    )
    for (const path of [
      '/runs/../../etc/passwd',
      '/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd/raw/stdout',
      '/runs/..%5c..%5cx/events',
      '/runs/r/raw/..%2fevents.jsonl',
      '/runs/r/raw/stdout.1.log',
      '/runs/r/raw/__proto__',
      '/runs/__proto__',
      '/runs/constructor/events',
      '/runs/%00/events',
      '/runs/r%0d%0aset-cookie:x/events',
      '/runs/%/events',
      // Another host's path, in every spelling that a URL parser knows.
      '//evil.example/runs',
      '///evil.example/runs',
      '//runs',
      '/\\evil.example/runs',
      '/.//evil.example/../runs',
      'http://evil.example/runs',
    ])
      expect(await from(path), path).toBe(404)
    // What is no target at all is refused by Node itself.
    for (const path of ['runs', '*', 'http:/runs', '\\\\evil.example\\runs'])
      expect([400, 404], path).toContain(await from(path))
  })

  test('an id in a request never comes back as a field of the stream', async () => {
    const dir = root()
    putRun(dir, 'r', 1)
    const { url } = await serving(dir)
    for (const id of ['x%0a%0adata:%20forged%0a%0a', '%0d%0did:%20forged', 'r:1%00forged']) {
      const { text } = await request(`${url}runs/r/events?after=${id}`)
      expect(text).not.toContain('forged')
    }
  })
})

test('slashes in a recorded directory take linear time', async () => {
  await expectLinear('slashes', (size) => {
    const dir = `${'/'.repeat(size)}x`
    return () => judgePath('a', dir)
  })
})

test('the page and the package load nothing from elsewhere', () => {
  for (const { text } of pageFiles.values())
    expect(text).not.toMatch(/(?:src|href)="https?:|@import|url\(http/)
  const { dependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  for (const version of Object.values(dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/)
})
