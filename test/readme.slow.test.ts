import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withCodes } from '../scripts/codes.ts'
import { inside } from './cli/inside.ts'
import {
  buildPrograms,
  codeOf,
  type PageExample,
  pageAt,
  programOf,
  root,
  runProgram,
  standIns,
} from './page-programs.ts'

const readme = pageAt('README.md')
const pageOf = ({ page }: FirstExample) => (page ? pageAt(page) : readme)

/** An example of the README, or the first one of another page. */
interface FirstExample extends PageExample {
  readonly page?: string
}

describe('docs/codes.md', () => {
  test('has the table of codes as the sources have it (if not: npm run codes)', () => {
    const page = readFileSync(join(root, 'docs/codes.md'), 'utf8')
    expect(page).toBe(withCodes(page))
    expect(page).toContain('| `TRUNCATED` | the input ended inside the payload | ask for')
  })
})

/** What each example takes for granted, and what it must print. */
const examples: Record<string, FirstExample> = {
  a: {
    before: `
      import { jsonSchema } from 'agent-sluice'
      const prompt = 'review'
      type Issues = { issues: { file: string; line: number }[] }
      const Report = jsonSchema<Issues>({ type: 'object', required: ['issues'] })`,
    prints: [/^b\.ts 2$/m],
  },
  b: {
    prints: [/^true finished Wrote artifacts\/info\.json\. null null null$/m, /^[a-z_]+$/m],
  },
  c: {
    before: `
      import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
      import { json } from 'node:stream/consumers'
      type Body = { body: { task: string } }
      type Answer = { status(code: number): { json(value: object): void } }
      let start!: (request: Body, response: Answer) => void
      let follow!: (request: IncomingMessage, response: ServerResponse) => void
      const app = {
        post: (_: string, route: typeof start) => { start = route },
        use: (route: typeof follow) => { follow = route },
      }
      const isMine = (_: unknown) => true
      const server = createServer(async (request, response) => {
        if (request.method === 'GET') return follow(request, response)
        const body = (await json(request)) as Body['body']
        start({ body }, { status: (code) => ({ json: (value) => void response.writeHead(code).end(JSON.stringify(value)) }) })
      }).listen(0, '127.0.0.1', async () => {
        const url = 'http://127.0.0.1:' + (server.address() as { port: number }).port + '/agents'
        const answer = await fetch(url, { method: 'POST', body: '{"task":"say hi"}' })
        const { id } = (await answer.json()) as { id: string }
        console.log(answer.status, await (await fetch(url + '/runs/' + id + '/chat')).text())
        server.close()
      })`,
    prints: [/^202 retry/m, /^event: assistant\.message\.final$/m, /^event: conversation\.ended$/m],
  },
  channels: {
    page: 'docs/engines.md',
    before: `
      import { spawn } from 'node:child_process'
      import { createReadStream } from 'node:fs'
      const run = '${root}fixtures/codex/07a-file-write.tee80'
      const child = spawn('cat', [run + '/stdout.log'])
      const pty = createReadStream(run + '/pty-output.log')`,
    prints: [/^1 lifecycle\.run\.status stdout$/m, /agent\.message\.final stdout$/m, /completion\.state/],
  },
  ask: {
    page: 'docs/ask.md',
    before: `
      const answers = ['I think so.', '{"safe": true,}']
      const model = async (_: string, _signal?: AbortSignal) => answers.shift() ?? ''
      const Verdict = { type: 'object', required: ['safe'], properties: { safe: { type: 'boolean' } } }`,
    prints: [/^true$/m],
  },
  'ask-agent': {
    page: 'docs/ask.md',
    before: "const Report = { type: 'object', required: ['issues'] }",
    prints: [/^\{ issues: \[\] \}$/m],
  },
  work: {
    page: 'docs/work.md',
    before: `
      import { mkdirSync, writeFileSync } from 'node:fs'
      mkdirSync('repos/shop', { recursive: true })
      const result = { issue_ref: 'shop#12', run_id: 'run-7', status: 'ok', changes: { pr: '7' }, tests: '3 passed', summary: 's' }
      writeFileSync('repos/shop/worker.sh', "#!/bin/sh\\ncat > work_result.json <<'X'\\n" + JSON.stringify(result) + '\\nX\\n', { mode: 0o755 })`,
    prints: [/^advance ok/m],
  },
}

describe('the examples of the README, and the first ones of other pages', () => {
  let dir = ''
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'sluice-readme-'))
    standIns(dir)
    const programs = Object.entries(examples).map(([name, example]) => [
      name,
      programOf(codeOf(pageOf(example), name), example),
    ])
    buildPrograms(dir, Object.fromEntries(programs))
  })
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  test.for(Object.entries(examples))('%s does what it says, in 12 lines or fewer', ([name, example]) => {
    expect(codeOf(pageOf(example), name).trim().split('\n').length).toBeLessThanOrEqual(12)
    const { stdout, stderr, status } = runProgram(dir, name)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const line of example.prints) expect(stdout).toMatch(line)
  })

  test('f runs on the command line', async () => {
    const cli = (args: string[], stdin: string) => inside(args, { stdin })
    const run = readFileSync(join(root, 'fixtures/codex/07a-file-write.tee80/stdout.log'), 'utf8')
    const chat = await cli(['chat'], run)
    expect(chat.out).toContain('"type":"assistant.message.final"')
    const schema = join(dir, 'report.schema.json')
    writeFileSync(schema, '{"type":"object","required":["a"]}')
    const values = await cli(['values', '--tag', 'json', '--schema', schema], 'x <json>{"a":1}</json>')
    expect([values.code, values.out]).toEqual([0, expect.stringContaining('"value":{"a":1}')])
  })
})
