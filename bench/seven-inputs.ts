// Seven inputs that agents really write, for us and for what people use instead, each in a process of its
// own.
//   npx tsx bench/seven-inputs.ts            (prints the table, and writes it into bench/seven-inputs.md)
// A cell says what happened: how many of the records came out, what came out wrong or twice, what was thrown,
// and what was said of the end. codex-sdk is fetched into a cache outside this folder, without the agent that
// it brings along: it starts a program that prints the input.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Chunk } from '../src/index.ts'

const LIMIT_MS = 60_000
const LIMIT_MB = 512
const CODEX_SDK = '0.163.0'

interface Input {
  readonly title: string
  readonly stdout: () => Iterable<Buffer>
  readonly stderr?: () => Iterable<Buffer>
  readonly pty?: () => Iterable<Buffer>
  readonly exit: number
  /** The messages and the outputs of commands that must come out, each once. */
  readonly facts: readonly string[]
  /** The text is one payload, and this is its value. */
  readonly payload?: unknown
  /** The run is no success, whatever its exit code says. */
  readonly notGood?: true
}

const fixture = (path: string) => readFileSync(new URL(`../fixtures/${path}`, import.meta.url))
const message = (id: string, text: string) =>
  `${JSON.stringify({ type: 'item.completed', item: { id, type: 'agent_message', text } })}\n`
const started = '{"type":"thread.started","thread_id":"0199"}\n{"type":"turn.started"}\n'
const ended =
  '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}\n'
const bytes = (text: string) => [Buffer.from(text)]

interface Item {
  readonly type?: string
  readonly text?: string
  readonly aggregated_output?: string
}

/** What an item of Codex says: a message, or the output of a command. */
function factIn({ type, text, aggregated_output }: Item): string[] {
  if (type === 'agent_message' && text !== undefined) return [text]
  return type === 'command_execution' && aggregated_output !== undefined ? [aggregated_output] : []
}

/** The facts in a log whose lines are all whole. */
function factsIn(log: Buffer): string[] {
  const records = log
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  return records.flatMap(({ type, item }) => (type === 'item.completed' ? factIn(item) : []))
}

function* hugeLine(): Generator<Buffer> {
  yield Buffer.from(
    `${started}{"type":"item.completed","item":{"id":"item_0","type":"command_execution","aggregated_output":"`,
  )
  const block = Buffer.alloc(1 << 20, 'x')
  for (let i = 0; i < 1024; i++) yield block
  yield Buffer.from(`\n${message('item_1', 'done')}${ended}`)
}

const payload = `Here is what I found:

\`\`\`json
{
  "issues": [
    {"file": "src/a.ts", "line": 12, "message": "say "no" to any"},
  ],
}
\`\`\`
`

const plain = 'codex/01-plain.tee80'
const torn = 'codex/03h-interleave.tee80'

const inputs: Record<string, Input> = {
  cut: {
    title: 'a record that is cut off, exit 0',
    stdout: () =>
      bytes(`${started}${message('item_0', 'first')}${message('item_1', 'All tests pass').slice(0, -9)}`),
    exit: 0,
    facts: ['first'],
    notGood: true,
  },
  torn: {
    title: 'a PTY alone, log text in the middle of records',
    stdout: () => [],
    pty: () => [fixture(`${torn}/pty-output.log`)],
    exit: 0,
    facts: factsIn(fixture(`${torn}/stdout.log`)),
  },
  doubled: {
    title: 'the same records on stdout and the PTY',
    stdout: () => [fixture(`${plain}/stdout.log`)],
    pty: () => [fixture(`${plain}/pty-output.log`)],
    exit: 0,
    facts: factsIn(fixture(`${plain}/stdout.log`)),
  },
  forged: {
    title: 'a tool prints a good end on stderr, then the agent dies, exit 0',
    stdout: () => bytes(`${started}${message('item_0', 'I run the tool')}`),
    stderr: () => bytes(`${message('item_9', 'All done!')}${ended}`),
    exit: 0,
    facts: ['I run the tool'],
    notGood: true,
  },
  payload: {
    title: 'a payload in a fence, with a comma and quotes too many',
    stdout: () => bytes(`${started}${message('item_0', payload)}${ended}`),
    exit: 0,
    facts: [payload],
    payload: { issues: [{ file: 'src/a.ts', line: 12, message: 'say "no" to any' }] },
  },
  nothing: {
    title: 'nothing at all, exit 0',
    stdout: () => [],
    exit: 0,
    facts: [],
    notGood: true,
  },
  huge: {
    title: 'a line of 1 GB, then the answer',
    stdout: hugeLine,
    exit: 0,
    facts: ['done'],
  },
}

/** What a peer makes of an input. `said` is its word on the end. */
interface Seen {
  readonly facts: string[]
  payload?: unknown
  said?: string
}

type Take = (input: Input, seen: Seen) => Promise<void>

/** Every stream line by line, as most programs read them, each line by `parse`. */
const byLines =
  (parse: (line: string) => unknown, payloadOf: (text: string) => unknown): Take =>
  async (input, seen) => {
    const { default: split2 } = await import('split2')
    for (const stream of [input.stdout, input.stderr, input.pty]) {
      if (!stream) continue
      for await (const line of Readable.from(stream(), { objectMode: false }).pipe(split2())) {
        if (line.trim() === '') continue
        const record = (await parse(line)) as { type?: string; item?: Item } | undefined
        if (record?.type === 'item.completed' && record.item) seen.facts.push(...factIn(record.item))
      }
    }
    if (input.payload !== undefined) seen.payload = await payloadOf(seen.facts[0] ?? '')
  }

const peers: Record<string, Take> = {
  async 'agent-sluice'(input, seen) {
    const { events } = await import('../src/index.ts')
    const { outcomeOf } = await import('../src/events/run-outcome.ts')
    const flow = Readable.from(chunksOf(input)).pipe(
      events('codex', {
        ...(input.payload !== undefined && { schema: { type: 'object', required: ['issues'] } }),
      }),
    )
    for await (const event of flow) {
      if (event.type === 'agent.message.final' && !event.data.incomplete) seen.facts.push(event.data.text)
      if (event.type === 'tool.call.completed') seen.facts.push(String(event.data.output))
      if (event.type === 'lifecycle.run.result') seen.payload = event.data.value
      if (event.type === 'lifecycle.completion.state') seen.said = outcomeOf(event.data)
    }
  },
  'split2 + JSON.parse': byLines(JSON.parse, JSON.parse),
  jsonrepair: byLines(
    async (line) => JSON.parse((await import('jsonrepair')).jsonrepair(line)),
    async (text) => JSON.parse((await import('jsonrepair')).jsonrepair(text)),
  ),
  'AI SDK parsePartialJson': byLines(partial, partial),
  async 'codex-sdk'(input, seen) {
    const { Codex } = await import(
      pathToFileURL(join(sdkFolder, 'node_modules/@openai/codex-sdk/dist/index.js')).href
    )
    const folder = mkdtempSync(join(tmpdir(), 'seven-'))
    try {
      const thread = new Codex({ codexPathOverride: fakeAgent(folder) }).startThread({
        skipGitRepoCheck: true,
        workingDirectory: folder,
      })
      const { events } = await thread.runStreamed('go')
      for await (const event of events) {
        if (event.type === 'item.completed') seen.facts.push(...factIn(event.item))
        if (event.type === 'turn.completed') seen.said = 'turn completed'
      }
      if (input.payload !== undefined) seen.payload = JSON.parse(seen.facts[0] ?? '')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function partial(text: string): Promise<unknown> {
  const { parsePartialJson } = await import('ai')
  return (await parsePartialJson(text)).value
}

function* chunksOf(input: Input): Generator<Chunk> {
  const channels = (['stdout', 'stderr', 'pty'] as const).filter(
    (name) =>
      input[name] !== undefined && !(name === 'stdout' && input.pty && [...input.stdout()].length === 0),
  )
  for (const channel of channels)
    for (const piece of input[channel]!()) yield { channel, bytes: piece, channels }
  yield { channel: 'exit', code: input.exit, signal: null }
}

/** A program in the place of the agent: it prints the input of this process and leaves with its exit code. */
function fakeAgent(folder: string): string {
  const path = join(folder, 'codex')
  const self = fileURLToPath(import.meta.url)
  const words = [process.execPath, '--import', import.meta.resolve('tsx'), self, 'print', process.argv[3]!]
  writeFileSync(path, `#!/bin/sh\nexec ${words.map((word) => `'${word}'`).join(' ')}\n`, { mode: 0o755 })
  return path
}

const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'agent-sluice')
const sdkFolder = join(cache, `codex-sdk-${CODEX_SDK}`)

function fetchSdk(): void {
  if (existsSync(join(sdkFolder, 'node_modules/@openai/codex-sdk'))) return
  mkdirSync(sdkFolder, { recursive: true })
  writeFileSync(join(sdkFolder, 'package.json'), '{"private":true}')
  execFileSync(
    'npm',
    ['install', '--omit=optional', '--no-audit', '--no-fund', `@openai/codex-sdk@${CODEX_SDK}`],
    {
      cwd: sdkFolder,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
}

/** In the child: one peer, one input, and what happened in words. */
async function one(peer: string, name: string): Promise<string> {
  const input = inputs[name]!
  const seen: Seen = { facts: [] }
  let thrown = ''
  try {
    await peers[peer]!(input, seen)
  } catch (error) {
    thrown = `throws ${error instanceof Error ? error.constructor.name : 'something'}`
  }
  return words(input, seen, thrown)
}

function words(input: Input, seen: Seen, thrown: string): string {
  const { facts } = input
  const distinct = new Set(seen.facts)
  const right = facts.filter((text) => distinct.has(text)).length
  const wrong = [...distinct].filter((text) => !facts.includes(text)).length
  const twice = seen.facts.length - distinct.size
  const told = [
    facts.length > 0 ? `${right} of ${facts.length} ${facts.length === 1 ? 'record' : 'records'}` : '',
    wrong > 0 ? `**${wrong} that ${wrong === 1 ? 'is' : 'are'} none**` : '',
    twice > 0 ? `**${twice} twice**` : '',
    input.payload === undefined ? '' : payloadWords(input.payload, seen.payload, thrown),
    thrown,
    seen.said === undefined
      ? input.notGood && thrown === ''
        ? 'says nothing of the end'
        : ''
      : `says: ${seen.said}`,
  ]
  return told.filter(Boolean).join(', ') || 'nothing'
}

function payloadWords(expected: unknown, given: unknown, thrown: string): string {
  if (given === undefined) return thrown === '' ? 'no value' : ''
  return JSON.stringify(given) === JSON.stringify(expected) ? 'the right value' : '**a wrong value**'
}

async function inProcess(peer: string, name: string): Promise<string> {
  const self = fileURLToPath(import.meta.url)
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${LIMIT_MB}`, '--import', 'tsx', self, peer, name],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  let said = ''
  child.stdout.on('data', (part) => {
    said += part
  })
  let late = false
  const timer = setTimeout(() => {
    late = true
    child.kill('SIGKILL')
  }, LIMIT_MS)
  const [code] = await once(child, 'close')
  clearTimeout(timer)
  if (late) return `no answer in ${LIMIT_MS / 1000} s`
  return code === 0 && said !== '' ? said : `the process dies (${LIMIT_MB} MB of heap)`
}

/** codex-sdk starts its agent with pipes, so what is on a PTY never reaches it. */
function cannot(peer: string, name: string): boolean {
  return peer === 'codex-sdk' && inputs[name]!.pty !== undefined
}

const [peer, name] = process.argv.slice(2)
if (peer === 'print') {
  const input = inputs[name!]!
  for (const piece of input.stderr?.() ?? []) process.stderr.write(piece)
  await pipeline(Readable.from(input.stdout(), { objectMode: false }), process.stdout)
  process.exitCode = input.exit
} else if (peer !== undefined && name !== undefined) {
  process.stdout.write(await one(peer, name))
} else {
  fetchSdk()
  const names = Object.keys(peers)
  const lines = [`| Input | ${names.join(' | ')} |`, `| --- |${' --- |'.repeat(names.length)}`]
  for (const [name, { title }] of Object.entries(inputs)) {
    process.stderr.write(`${title}\n`)
    const cells: string[] = []
    for (const peer of names) cells.push(cannot(peer, name) ? 'has no PTY' : await inProcess(peer, name))
    lines.push(`| ${title} | ${cells.join(' | ')} |`)
  }
  console.log(lines.join('\n'))
  const page = new URL('seven-inputs.md', import.meta.url)
  const [before, rest] = readFileSync(page, 'utf8').split('<!-- seven inputs -->')
  const after = rest?.split('<!-- /seven inputs -->')[1]
  if (after === undefined) console.error('bench/seven-inputs.md has no place for the table')
  else
    writeFileSync(page, `${before}<!-- seven inputs -->\n${lines.join('\n')}\n<!-- /seven inputs -->${after}`)
}
