import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { redact } from '../../src/streams/views.ts'
import { redactor } from '../../src/views/redact/redact.ts'
import { redactStage } from '../../src/views/redact/redact-stage.ts'
import { validEvents } from '../engines/valid.ts'
import { expectLinear } from '../growth.ts'
import { runs, slow } from '../pace.ts'
import { chance, plantedSecrets } from './secrets.ts'

/** An event of that type; the first of a run, unless it says something else. */
function event(type: AgentEvent['type'], data: object, seq = 1): AgentEvent {
  const stream = type === 'raw.stderr' ? 'stderr' : 'stdout'
  const raw_ref = { attempt_number: 1, stream, byte_from: seq * 10, byte_to: seq * 10 + 5, encoding: 'utf-8' }
  const record = {
    protocol_version: 'rasp/1.0',
    type,
    run_id: 'run',
    seq,
    ts: '2026-01-01T00:00:00.000Z',
    source: { engine: 'codex', parser: 'codex', confidence: 1 },
    event: { category: type.split('.')[0], type },
    data,
    correlation: { event_id: `e${seq}` },
    attempt_number: 1,
    raw_ref,
  }
  return record as unknown as AgentEvent
}

/** The secret, as a text could still hold it: whole, escaped, or a line of it. */
function formsOf(secret: string): string[] {
  const lines = secret.includes('\n') ? secret.split('\n').slice(1, -1) : []
  return [secret, JSON.stringify(secret).slice(1, -1), ...lines]
}

function leaks(text: string, secret: string): boolean {
  return formsOf(secret).some((form) => text.includes(form))
}

test('a key is found wherever it is in a long text', () => {
  const keys = [
    'ghp_Zq7Xw2Vb9Nk4Jt6Hs8Rd3Mf5Lc1PyGuEoAi0',
    'crsr_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f',
  ]
  for (const key of [...keys, 'aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY'])
    for (const before of ['a ', 'a/', 'ü '])
      for (let length = 32_720; length < 32_790; length += 14) {
        const hidden = redactor().text(`${before.repeat(length / 2)} ${key} behind`)
        expect(hidden.slice(-40), `${key} at ${length}`).toMatch(/ \[redacted:[a-z]+\] behind$/)
      }
})

describe('secrets of every kind', () => {
  test('are hidden in plain text, in JSON, in JSON in JSON and in color', () => {
    for (const { kind, secret, line } of plantedSecrets()) {
      const forms = [
        line,
        `before\n${line}\nafter`,
        JSON.stringify({ output: `x\n${line}\n` }),
        JSON.stringify({ line: JSON.stringify({ output: `x\n\t${line}` }) }),
        `\u001b[1;31m${line}\u001b[0m`,
      ]
      for (const form of forms) {
        const hidden = redactor().text(form)
        expect(leaks(hidden, secret), `${kind}: ${form}`).toBe(false)
        expect(hidden, kind).toContain('[redacted:')
        if (!form.startsWith('{')) continue
        expect(Object.keys(JSON.parse(hidden)), kind).toEqual(Object.keys(JSON.parse(form)))
      }
    }
  })

  test('is not looked for without end if an empty value is known, and is if a short one is', () => {
    expect(redactor({ known: ['', 'ab', 'river77'] }).text('river77 ab')).toBe(
      '[redacted:known] [redacted:known]',
    )
  })

  test('is told by its kind, and counted', () => {
    const hide = redactor()
    const [openai] = plantedSecrets()
    expect(hide.text(`key ${openai!.secret}.`)).toBe('key [redacted:openai].')
    expect(hide.text('DB_PASSWORD=abc12345 and https://me:hunter2x@host/')).toBe(
      'DB_PASSWORD=[redacted:password] and https://me:[redacted:url]@host/',
    )
    expect(hide.text('Authorization: Bearer abcdef0123456789abcdef')).toBe(
      'Authorization: Bearer [redacted:authorization]',
    )
    expect(hide.hidden()).toEqual({ total: 4, kinds: { authorization: 1, openai: 1, password: 1, url: 1 } })
  })

  test('is hidden by the name of the field, and by the flag before it', () => {
    const hide = redactor()
    expect(
      hide.value({
        password: 'letmein',
        pin: 1,
        nested: [{ apiKey: 'a1b2c3d4e5' }, { Authorization: 'Bearer xyzxyzxyz' }],
        argv: ['mysql', '--password', 'letmein2', '--port', '3306'],
        dbPassword: 12345678,
      }),
    ).toEqual({
      password: '[redacted:password]',
      pin: 1,
      nested: [{ apiKey: '[redacted:secret]' }, { Authorization: '[redacted:authorization]' }],
      argv: ['mysql', '--password', '[redacted:password]', '--port', '3306'],
      dbPassword: '[redacted:password]',
    })
  })

  test('is hidden in the keys of objects, of which none is lost', () => {
    const [a, b] = plantedSecrets().filter(({ kind }) => kind === 'github')
    expect(redactor().value({ [a!.secret]: 1, [b!.secret]: 2, ['__proto__x']: 3 })).toEqual({
      '[redacted:github]': 1,
      '[redacted:github]#2': 2,
      __proto__x: 3,
    })
    const hostile = JSON.parse(`{"__proto__":{"token":"abc12345"}}`)
    expect(JSON.stringify(redactor().value(hostile))).toBe('{"__proto__":{"token":"[redacted:secret]"}}')
  })

  test('that a name told is hidden where it comes again without the name', () => {
    const hide = redactor()
    hide.text('PASSWORD=tr0ub4dor&3')
    expect(hide.text('I will log in with tr0ub4dor&3 now')).toBe('I will log in with [redacted:known] now')
    expect(redactor({ learn: false }).text('log in with tr0ub4dor&3')).toBe('log in with tr0ub4dor&3')
  })

  test('of one’s own is hidden by a text or a pattern, within one line', () => {
    const hide = redactor({ patterns: ['acme-internal', /T-\d{4}/g, /x.{5,9}y/gs] })
    expect(hide.text('acme-internal T-1234 T-56')).toBe('[redacted:own] [redacted:own] T-56')
    expect(hide.text('x123\n4567y')).toBe('x123\n4567y')
    const long = `${'a'.repeat(16_380)}T-1234${'b'.repeat(40_000)}T-5678`
    expect(hide.text(long)).toBe(long.replace('T-1234', '[redacted:own]').replace('T-5678', '[redacted:own]'))
    // A pattern of what a mark is made of does not hide marks.
    const mark = redactor({ patterns: [/redacted|password/g, 'password'] })
    const once = mark.text('password: "hunter22"')
    expect(mark.text(once)).toBe(once)
  })

  test('of a wrong kind is refused at once', () => {
    expect(() => redactor({ patterns: ['abc'] })).toThrow(/four characters/)
    expect(() => redactor({ patterns: [/a/] })).toThrow(/flag g/)
    expect(() => redactor({ patterns: [3 as unknown as string] })).toThrow(/BAD_OPTION|RegExp/)
    expect(() => redactStage(3 as unknown as object)).toThrow(/redactStage/)
  })

  test('a number in JSON is hidden so that it stays JSON', () => {
    expect(redactor().text('{"password": 12345678, "n": 5}')).toBe(
      '{"password": "[redacted:password]", "n": 5}',
    )
    const text = JSON.stringify({ a: '{"password": 12345678}' })
    expect(JSON.parse(JSON.parse(redactor().text(text)).a)).toEqual({ password: '[redacted:password]' })
  })
})

describe('what is no secret stays', () => {
  const next = chance(7)
  const hex = (length: number) => Array.from({ length }, () => Math.floor(next() * 16).toString(16)).join('')
  test.each([
    ['a git hash', `commit ${hex(40)} (HEAD -> main)`],
    ['a digest', `sha256:${hex(64)}`],
    ['a UUID', `session ${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`],
    ['the id of a call', '{"id":"toolu_01A09q90qw90lq917835lq9","type":"tool_use"}'],
    ['the id of a session', 'ses_e2099088bffeMXpnGklHxB68JR'],
    ['the integrity of a package', `"integrity": "sha512-${'aB3/xY9+kL2m'.repeat(7)}=="`],
    ['a public key', `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${'aB3xY9kL2m'.repeat(4)} me@host`],
    ['a fingerprint', `SHA256:${'aB3xY9kL2m'.repeat(4)}xyz`],
    [
      'an image',
      `data:image/png;base64,${Buffer.from(Array.from({ length: 3000 }, () => next() * 256)).toString('base64')}`,
    ],
    [
      'a path',
      '/home/me/.local/share/Trash/files/MyProject2024/src/components/UserProfileCard/Index2.test.tsx',
    ],
    ['a date', '/tmp/gemini-client-error-Turn.run-sendMessageStream-2026-11-15T12-04-01-743Z.json'],
    ['a type', 'function login(password: string, token: AuthToken, secret?: Secret<string>): void'],
    [
      'a variable',
      'PASSWORD=$DB_PASSWORD TOKEN=$(token) curl -u "$USER:$PASS" -H "Authorization: Bearer $TOKEN"',
    ],
    ['code', 'const token = getToken(2); const apiKey = config.keys.api; password = os.environ["PW1"]'],
    ['counts', '{"max_tokens": 4096, "input_tokens": 12345678, "token_count": 99, "total_tokens": 1}'],
    [
      'a sentence',
      'The password must have 8 characters. Basic authentication is off; Bearer authentication is on.',
    ],
    ['a place', 'see https://example.com:8080/a@b and git@github.com:acme/app.git and ssh://git@host/x'],
    ['a form', '<input name="password" type="password" required> password: ******** token: <your token>'],
    ['a directory', 'PWD=/srv/app\nOLDPWD=/srv'],
    ['a call', 'connect(host, password=pw, token=tok) and login(a, password=pw)'],
    ['a port', 'docker run --name mysql -p 3306:3306 -p3307:3307 mysql && mkdir -p mysql'],
    ['a fingerprint of a certificate', 'db: 74:31:E5:F4:C3:C1:CE:46:90:77:4F:0B\nab.c:12:5:error:x'],
    ['a sentence about a token', 'token is invalid; the password is required, the key is base64-encoded'],
    ['a flag in a sentence', 'use --token to log in, --password <pw>, --token TOKEN, --token string'],
    ['another field', '- name: A\n  value: b\n- name: TOKEN\n  valueFrom: x\n- name: C\n  value: d'],
    ['another input', '<input name="password"><input name="user" value="bob">'],
    [
      'a table of parameters',
      '| name | type |\n| --- | --- |\n| token | string |\n| password | the password |',
    ],
    ['a list of names', 'user, password, token\na, b, c'],
    ['a permission', 'permissions:\n  id-token: write\n  contents: read'],
    ['a hint', '--api-key=sk-… and "apiKey": "…" and API_KEY=your-api-key and password: "{{ pw }}"'],
    ['nothing', ''],
  ])('%s', (_, text) => {
    expect(redactor().text(text)).toBe(text)
    expect(redactor().value({ text })).toEqual({ text })
  })

  test.runIf(slow)('in all fixtures: not one word', { timeout: 60_000 }, () => {
    let words = 0
    const hide = redactor()
    for (const path of readdirSync('fixtures', { recursive: true, encoding: 'utf8' })) {
      if (!path.endsWith('.log') && !path.endsWith('events.jsonl')) continue
      const text = readFileSync(join('fixtures', path), 'latin1')
      words += text.split(' ').length
      expect([path, hide.text(text) === text]).toEqual([path, true])
    }
    expect(words).toBeGreaterThan(100_000)
  })
})

test.each([`[[["password= '"]]]`, `{"a":"password='hunter 2x"}`, `["password='hunter 2x","it's"]`])(
  'a quote that is not closed in its JSON string closes with it: %s',
  (text) => {
    const shown = redactor().text(text)
    expect(shown).not.toContain('hunter')
    expect(() => JSON.parse(shown)).not.toThrow()
  },
)

describe('the laws of redaction', () => {
  const secrets = [1, 2, 3].flatMap((seed) => plantedSecrets(seed))
  const texts = fc
    .array(
      fc.oneof(
        fc.constantFrom(...secrets.map(({ line }) => line)),
        fc.string({ maxLength: 20 }),
        fc.constantFrom(
          'password=',
          '"token": "',
          'Bearer ',
          '://a:b@',
          '\n',
          '\\n',
          '"',
          '\\"',
          '-----BEGIN RSA PRIVATE KEY-----',
          '[redacted:',
          ']',
          '--token ',
        ),
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join(' '))

  test('hiding twice is hiding once', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const once = redactor().text(text)
        expect(redactor().text(once)).toBe(once)
      }),
      { numRuns: runs(1000) },
    )
  })

  test('JSON stays JSON, of the same shape, as a value and as a text', () => {
    const shapeOf = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(shapeOf)
        : typeof value === 'object' && value !== null
          ? Object.values(value).map(shapeOf)
          : typeof value
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        texts,
        fc.integer(),
        fc.constant(null),
        tie('list'),
        tie('object'),
      ),
      list: fc.array(tie('tree'), { maxLength: 3 }),
      object: fc.dictionary(
        fc.constantFrom('a', 'output', 'text', 'b', ...secrets.slice(0, 9).map((s) => s.secret)),
        tie('tree'),
        { maxKeys: 3 },
      ),
    }))
    fc.assert(
      fc.property(tree, (value) => {
        expect(shapeOf(redactor().value(value))).toEqual(shapeOf(value))
        const text = JSON.stringify(value)
        // Two hidden keys of a text have the same name, so only that it is JSON can be asked.
        JSON.parse(redactor().text(text))
        JSON.parse(JSON.parse(redactor().text(JSON.stringify(text))))
      }),
      { numRuns: runs(1000), examples: [['password= `  ']] },
    )
  })

  test('no secret survives in any splitting of a message, and the pieces are the start of the whole', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...secrets),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 }),
        fc.constantFrom('', 'intro\n', 'x '),
        ({ secret, line, ownLine }, sizes, before) => {
          const text = `${ownLine ? before.replace('x ', '') : before}${line}\nthe end`
          const events: AgentEvent[] = []
          for (let at = 0, i = 0; at < text.length; i++) {
            const to = at + sizes[i % sizes.length]!
            events.push(
              event('agent.message.delta', { message_id: 'm', text: text.slice(at, to) }, events.length + 1),
            )
            at = to
          }
          events.push(event('agent.message.final', { message_id: 'm', text }, events.length + 1))
          const shown = validEvents(drive(redactStage(), events))
          expect(shown.map(({ raw_ref }) => raw_ref)).toEqual(events.map(({ raw_ref }) => raw_ref))
          const deltas = shown.slice(0, -1).map((one) => (one.data as { text: string }).text)
          const whole = (shown.at(-1)!.data as { text: string }).text
          expect(leaks(deltas.join(''), secret) || leaks(whole, secret)).toBe(false)
          expect(whole.startsWith(deltas.join(''))).toBe(true)
        },
      ),
      { numRuns: runs(500) },
    )
  })

  test('records stay valid and keep their places, whatever is in them', () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        const events = [
          event('user.message', { text: a }, 1),
          event('tool.call.started', { call_id: a, name: 'Bash', input: { command: b, [a]: a } }, 2),
          event('tool.call.failed', { call_id: a, name: 'Bash', output: b, error: a, exit_code: 1 }, 3),
          event('raw.stderr', { line: (a + b).slice(0, 4096).replaceAll('\n', ' ') }, 4),
          event('raw.stdout', { line: `${a} `.repeat(400).slice(0, 4096).replaceAll('\n', ' ') }, 5),
          event('artifact.created', { path: b || 'x', diff: a }, 6),
          event('agent.message.final', { message_id: a, text: a, structured_payload: [b] }, 7),
        ]
        const shown = validEvents(drive(redactStage(), events))
        const placeOf = ({ data: _, ...rest }: AgentEvent) => rest
        expect(shown.map(placeOf)).toEqual(events.map(placeOf))
        expect(shown.map(({ data }) => (data as { call_id?: string }).call_id)).toEqual(
          events.map(({ data }) => (data as { call_id?: string }).call_id),
        )
        const again = drive(redactStage({ learn: false }), shown)
        expect(drive(redactStage({ learn: false }), again)).toEqual(again)
      }),
      { numRuns: runs(150) },
    )
  })
})

describe('the stage', () => {
  const pem = plantedSecrets().find(({ kind }) => kind === 'private-key')!

  test('hides a private key that goes over many raw lines, and goes on behind it', () => {
    const lines = `before\n${pem.secret}\nafter`.split('\n')
    const events = lines.map((line, i) => event('raw.stderr', { line }, i + 1))
    const shown = drive(redactStage(), events).map(({ data }) => (data as { line: string }).line)
    for (const line of pem.secret.split('\n').slice(1, -1)) expect(shown.join('\n')).not.toContain(line)
    expect([shown[0], shown.at(-1)]).toEqual(['before', 'after'])
  })

  test('shows pieces line by line, and leaves a line without an end to the final message', () => {
    const delta = (text: string, seq: number) => event('agent.message.delta', { message_id: 'm', text }, seq)
    const events = [
      delta('one\ntw', 1),
      delta('o\nthree', 2),
      delta('x'.repeat(70_000), 3),
      delta('\nmore\n', 4),
    ]
    const shown = drive(redactStage(), events).map(({ data }) => (data as { text: string }).text)
    expect(shown).toEqual(['one\n', 'two\n', '', ''])
  })

  test('leaves out the half of a key that a line was cut in', () => {
    const line = `see ${plantedSecrets()[1]!.secret.slice(0, 15)}`
    const shown = (truncated: boolean) =>
      drive(redactStage(), [event('raw.stdout', truncated ? { line, truncated } : { line })])[0]!.data
    expect(shown(true)).toEqual({ line: 'see [redacted:cut]', truncated: true })
    expect(shown(false)).toEqual({ line })
  })

  test('takes records in the output of a tool that are nested too deep to be written again', () => {
    const deep = `{"type":"chunk","a":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`
    for (const output of [deep, { stdout: `x\n${deep.replace('chunk', 'whole')}\ny` }]) {
      const [shown] = drive(redactStage(), [
        event('tool.call.completed', { call_id: 'c', name: 'Bash', output }),
      ])
      expect(JSON.stringify(shown!.data)).toContain('[redacted:nested]')
    }
  })

  test('gives back what has no secret in it as the same object', () => {
    const given = event('tool.call.completed', { call_id: 'c', name: 'Bash', output: { a: ['b', 1, null] } })
    expect(drive(redactStage(), [given])[0]).toBe(given)
  })

  test('is a flow, too, and counts what it hid', async () => {
    const hide = redactor()
    const source = new PassThrough({ objectMode: true })
    source.end(event('user.message', { text: 'password=abc12345' }))
    const shown = await source.pipe(redact(hide)).toArray()
    expect(shown.map(({ data }) => data)).toEqual([{ text: 'password=[redacted:password]' }])
    expect(hide.hidden()).toEqual({ total: 1, kinds: { password: 1 } })
  })
})

const repeated = [
  ...['password=', 'eyJ', 'eyJaaaaaaaa.', 'sk-', 'sk-ant-', 'fm2_', '-----BEGIN RSA PRIVATE KEY-----'],
  ...['://a:b', 'cookie:', 'Bearer ', '"token":"', '\\"token\\":\\"$', '--token ', ' -u a', '=', ':'],
  ...['aB3', 'aB3/', '-', "password='$(", 'github_pat_', '[redacted:', 'ya29.', '1//0'],
  ...['\u001b[1', '\u001b[1ma', '\\u001b[', '| password ', 'password,', 'password,a\n', 'a\n| token |\n|--'],
  ...['name: password ', '"value":"a","name":"token",', '</password', '>a</token>', 'ENV A ', 'password is '],
  ...['sshpass -p ', 'login a password ', ':5432:a:b:', ' -u', 'password for a', `${'a'.repeat(30)} `],
]

test.each(repeated)('time grows with the text alone: %j', (unit) =>
  expectLinear(unit, (size) => {
    const text = unit.repeat(size / unit.length)
    return () => redactor().text(text)
  }),
)
