import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { root } from '../page-programs.ts'
import { commandsIn, outputsIn, summaryIn } from './github-runner.ts'
import { inside } from './inside.ts'

afterEach(() => vi.unstubAllEnvs())

/** A step of a workflow: the directory of the job, with commands of its own, and the files of the runner. */
function job(commands: Readonly<Record<string, string>> = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-github-'))
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  for (const [name, lines] of Object.entries(commands))
    writeFileSync(join(bin, name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 })
  const output = join(dir, 'set_output')
  const summary = join(dir, 'step_summary')
  for (const path of [output, summary]) writeFileSync(path, '')
  vi.stubEnv('PATH', [bin, process.env['PATH']].join(delimiter))
  vi.stubEnv('GITHUB_OUTPUT', output)
  vi.stubEnv('GITHUB_STEP_SUMMARY', summary)
  const sluice = async (...words: string[]) => {
    const place = ['--github', '--audit', join(dir, 'audit'), '--cwd', dir]
    const { code, out, err } = await inside(['run', ...place, ...words])
    return {
      code,
      out,
      err,
      commands: commandsIn(out + err),
      outputs: outputsIn(output),
      text: summaryIn(summary),
    }
  }
  return { dir, output, summary, sluice }
}

/** The lines of a Codex that says these things. */
const codexSaying = (...texts: string[]) => {
  const lines = [
    { type: 'thread.started', thread_id: 't1' },
    { type: 'turn.started' },
    ...texts.map((text, at) => ({
      type: 'item.completed',
      item: { id: `item_${at}`, type: 'agent_message', text },
    })),
    { type: 'turn.completed', usage: { input_tokens: 100, cached_input_tokens: 60, output_tokens: 10 } },
  ]
  return `cat <<'END_OF_LINES'\n${lines.map((line) => JSON.stringify(line)).join('\n')}\nEND_OF_LINES`
}

const recorded = (name: string, exit = 0) => `cat '${root}fixtures/${name}/stdout.log'; exit ${exit}`

test('a run that went well sets its outputs and writes its summary', async () => {
  const { sluice, dir } = job({
    codex: `mkdir artifacts; echo 1 > artifacts/info.json; ${recorded('codex/07a-file-write.tee80')}`,
  })
  const { code, outputs, text, commands, out } = await sluice('--', 'codex', 'exec', '--json', 'write it')
  expect(code).toBe(0)
  expect(outputs).toMatchObject({
    ...{ ok: 'true', outcome: 'finished', exit_code: '0', answer: 'Wrote artifacts/info.json.' },
    ...{ audit: join(dir, 'audit'), changed_files: 'artifacts/info.json' },
  })
  expect(text).toContain('## codex run: finished')
  expect(text).toContain('write it')
  expect(text).toContain('Wrote artifacts/info.json.')
  expect(commands).toEqual([])
  expect(out).toContain('finished: the turn ended well')
})

test('a run that failed is an error of the step, with its reason, and keeps its exit code', async () => {
  const { sluice } = job({ codex: recorded('codex/08a-http-429.pipe', 1) })
  const { code, outputs, text, commands } = await sluice('--', 'codex', 'exec', '--json', 'x')
  expect(code).toBe(1)
  expect(outputs).toMatchObject({ ok: 'false', outcome: 'failed', exit_code: '1' })
  expect(outputs['problem']).not.toBe('')
  expect(text).toContain('codex run: failed')
  expect(commands).toEqual([
    { name: 'error', properties: { title: 'codex run: failed' }, data: outputs['problem'] },
  ])
})

test('a result is an output, as JSON', async () => {
  const { sluice, dir } = job({ codex: codexSaying('Here: {"issues": ["a",]}') })
  const schema = join(dir, 'schema.json')
  writeFileSync(schema, '{"type":"object","required":["issues"]}')
  const { outputs } = await sluice('--schema', schema, '--', 'codex', 'exec', '--json', 'x')
  expect(outputs).toMatchObject({ outcome: 'succeeded', result: '{"issues":["a"]}' })
})

describe('a hostile answer', () => {
  const hostile = [
    'sluice_0123456789abcdef0123456789abcdef\nok<<EOF\ntrue\nEOF\nEOF\nanswer<<x\nx\nresult=owned',
    '::set-output name=ok::true',
    '  ::add-mask::the',
    '::stop-commands::mine\n::mine::',
    'text ##[set-env name=PATH]/evil and ##[add-path]/evil',
    '::error file=a.ts,line=1::forged%0Aline',
    '</details><script>alert(1)</script><img src=http://evil.example/x> ![x](http://evil.example/y.png)',
    '```\nan open fence',
  ]

  test('gives no command, no other output, and no HTML', async () => {
    const { sluice } = job({ codex: codexSaying(...hostile, hostile.join('\n')) })
    const { outputs, text, commands } = await sluice('--', 'codex', 'exec', '--json', hostile.join('\n'))
    expect(commands).toEqual([])
    // What follows `::add-mask::` is a secret, by what the command means.
    expect(outputs['answer']).toBe(hostile.join('\n').replace('mask::the', 'mask::[redacted:secret]'))
    expect(Object.keys(outputs).sort()).toEqual([
      'answer',
      'audit',
      'exit_code',
      'input_tokens',
      'ok',
      'outcome',
      'output_tokens',
      'run_id',
      'session',
    ])
    const [, asked = '', answer = ''] = text.split('sluice_0123')
    expect(asked).toContain('````\n\n</details>')
    expect(answer).toContain(
      '&lt;/details>&lt;script>alert(1)&lt;/script>&lt;img src=http://evil.example/x> !\\[x]',
    )
    expect(answer).toMatch(/> ```\n> an open fence\n> ```\n+$/)
  })

  test('on stderr, in a tool, in a path, in an error and in a broken result is text, too', async () => {
    const failed = {
      type: 'item.completed',
      item: {
        id: 'item_1',
        type: 'command_execution',
        command: '::warning::x ##[error]x',
        aggregated_output: hostile.join('\n'),
        exit_code: 1,
        status: 'failed',
      },
    }
    const lines = [
      `echo '${JSON.stringify(failed).replaceAll("'", '')}'`,
      `echo '{"type":"error","message":"::error::first\\n::set-output name=ok::true ##[add-path]x"}'`,
      "printf '::add-path::/evil\\n##[add-path]/evil\\n' >&2",
      "mkdir -p '::warning::x'; echo 1 > '::warning::x/##[error]x'",
      'exit 3',
    ]
    const { sluice, dir } = job({ codex: lines.join('\n') })
    writeFileSync(join(dir, 'schema.json'), '{"type":"object","required":["::error::x ##[error]x"]}')
    const words = ['--verbose', '--schema', join(dir, 'schema.json'), '--', 'codex', 'exec', '--json', 'x']
    const { code, commands, outputs } = await sluice(...words)
    expect(code).toBe(1)
    expect(commands.map(({ name }) => name)).toEqual(['error'])
    expect(commands[0]!.data).toBe(outputs['problem'])
    expect(outputs['ok']).toBe('false')
  })

  test('of any length stays within the limits of GitHub', async () => {
    const { sluice, output, summary } = job({
      codex: `awk 'BEGIN { print "{\\"type\\":\\"thread.started\\",\\"thread_id\\":\\"t\\"}"; s = "\u4e2d"; for (i = 0; i < 20; i++) s = s s; for (i = 0; i < 3; i++) print "{\\"type\\":\\"item.completed\\",\\"item\\":{\\"id\\":\\"item_" i "\\",\\"type\\":\\"agent_message\\",\\"text\\":\\"" s "\\"}}" }'`,
    })
    // Another command of the same step, without a line end.
    writeFileSync(output, 'before=1')
    const { outputs, text } = await sluice('--quiet', '--', 'codex', 'exec', '--json', 'x')
    expect(outputs).toMatchObject({
      before: '1',
      answer: expect.stringMatching(/^中{100000} … \(948,576 more characters\)$/),
    })
    expect(readFileSync(output).length).toBeLessThan(1e6)
    expect(text).toContain('more characters')
    expect(readFileSync(summary).length).toBeLessThan(1 << 20)
  })
})

test('the agent does not get the files of the step', async () => {
  const { sluice, output } = job({ codex: `env >&2\n${codexSaying('hi')}` })
  vi.stubEnv('GITHUB_ENV', output)
  vi.stubEnv('GITHUB_PATH', output)
  vi.stubEnv('GITHUB_SHA', 'abc')
  const { out } = await sluice('--verbose', '--', 'codex', 'exec', '--json', 'x')
  expect(out).toContain('GITHUB_SHA=abc')
  expect(out).not.toMatch(/GITHUB_(OUTPUT|ENV|PATH|STEP_SUMMARY|STATE)=/)
})

describe('secrets', () => {
  // Not a key, but one in its format.
  const key = `ghp_${'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5'}`
  const agent = {
    codex: codexSaying(
      `The word is hunter2-blue-whale.`,
      `password=hunter2-blue-whale ${key} and v4ult-0f-m1ne-x9`,
    ),
  }

  test('are hidden in the log, in outputs and in the summary, also where they come before their name', async () => {
    const { sluice } = job(agent)
    vi.stubEnv('VAULT_TOKEN', 'v4ult-0f-m1ne-x9')
    const { out, outputs, text } = await sluice('--', 'codex', 'exec', '--json', `use ${key}`)
    for (const secret of [key, 'v4ult-0f-m1ne-x9']) {
      expect(out).not.toContain(secret)
      expect(text).not.toContain(secret)
      expect(JSON.stringify(outputs)).not.toContain(secret)
    }
    expect(text).not.toContain('hunter2-blue-whale')
    expect(outputs['answer']).toContain('[redacted:')
  })

  test('are shown if that is asked for', async () => {
    const { sluice } = job(agent)
    const { outputs } = await sluice('--no-redact', '--', 'codex', 'exec', '--json', 'x')
    expect(outputs['answer']).toContain(key)
  })
})

describe('where it cannot work', () => {
  test.each([
    [['GITHUB_OUTPUT', ''], '--github needs GITHUB_OUTPUT, which GitHub Actions sets'],
    [['GITHUB_STEP_SUMMARY', ''], '--github needs GITHUB_STEP_SUMMARY'],
    [
      ['GITHUB_OUTPUT', '/nowhere/at/all'],
      'cannot write the file of GITHUB_OUTPUT: there is no such file or directory',
    ],
  ])('%j is bad usage', async ([name, value], message) => {
    const { dir } = job({ codex: 'touch started' })
    vi.stubEnv(name!, value)
    const { code, err } = await inside(['run', '--github', '--cwd', dir, '--', 'codex', 'exec', 'x'])
    expect(code).toBe(2)
    expect(err).toContain(message)
  })

  test('flags that do not fit are bad usage', async () => {
    const { sluice } = job()
    expect(await sluice('--json', '--', 'true')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--github'),
    })
    const { code, err } = await inside(['run', '--no-redact', '--', 'true'])
    expect([code, err]).toEqual([2, expect.stringContaining('--no-redact is for --github')])
  })

  test('a command that cannot be started is an error of the step', async () => {
    const { sluice } = job()
    const { code, commands } = await sluice('--', 'no-such-agent-here')
    expect(code).toBe(2)
    expect(commands).toMatchObject([{ name: 'error', data: expect.stringContaining('no such command') }])
  })
})
