// What agent-sluice does, shown on recordings of real agents: what came in, where those bytes are, and what
// came out. Everything that is printed is computed here, with the public functions and the command; a claim
// that does not hold ends it with an error.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { cutTo } from '../../src/cli/draw/width.ts'
import { styles } from '../../src/cli/draw/wrap.ts'
import { codex } from '../../src/engines.ts'
import { type AgentEvent as Event, type EventOf, events, replay, tap, values } from '../../src/index.ts'
import { grouped } from '../../src/views/words.ts'
import { why } from '../../src/views.ts'
import { CR_SIGN, LF_SIGN, type Quote, screen } from './screen.ts'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
// The reader may leave early: npm start | head
process.stdout.on('error', () => process.exit())
const show = screen()

show.head('What agent-sluice makes of recorded agents: bytes in, events out')
show.aside(`Line ends in the quoted bytes: ${CR_SIGN} is CR, ${LF_SIGN} is LF.`)
await torn()
await doubled()
await failedTool()
await payload()
await silent()
next()

async function torn(): Promise<void> {
  show.part(1, 'A torn line of a terminal is mended')
  const run = 'fixtures/codex/03h-interleave.tee80'
  const log = readFileSync(`${run}/pty-output.log`)
  const fromPty = await tap({ pty: Readable.from([log]), exit: 0 })
    .pipe(events(codex))
    .toArray()
  const fromStdout = await tap(createReadStream(`${run}/stdout.log`))
    .pipe(events(codex))
    .toArray()
  const results = fromPty.filter((event) => event.type === 'tool.call.completed')
  const tornResults = results.filter((event) => lineEnds(bytesOf(event, log)) > 1)
  const [first] = tornResults
  assert(first)
  const { from, to } = placeOf(first)
  const inside = fromPty.find((event) => event.type === 'raw.pty' && placeOf(event).from > from)
  assert(inside)
  const hole = placeOf(inside)
  assert(hole.to < to)

  show.note('A log line of the agent was written into the middle of a record.')
  show.source(run)
  show.quote([
    piece('pty', log, from, hole.from),
    { ...piece('pty', log, hole.from, hole.to), style: styles.yellow },
    piece('pty', log, hole.to, to),
  ])
  assert.deepEqual(results.map(dataOf), fromStdout.filter(({ type }) => type === first.type).map(dataOf))
  show.good(
    `${first.type}: ${grouped(String(first.data.output).length)} characters of output; the log line is ${inside.type}`,
  )
  show.good(
    `${tornResults.length} of ${results.length} such records are torn; all ${results.length} come out as stdout has them`,
  )

  show.blank()
  const other = 'fixtures/codex/04-fenced-json.pty80'
  const columns = 80
  show.note(`A terminal of ${columns} columns breaks a record into rows (wrapped here).`)
  show.source(other)
  const recorded = readFileSync(`${other}/pty-output.log`)
  const rows = recorded
    .toString()
    .split('\r\n')
    .flatMap((line) => cutTo(line, columns))
  const wrapped = Buffer.from(rows.join('\r\n'))
  const whole = await messageOf(recorded)
  const joined = await messageOf(wrapped)
  assert.deepEqual(joined.data, whole.data)
  const place = placeOf(joined)
  const quotes = rowsOf('pty', wrapped, place.from, place.to)
  assert(quotes.length > 1)
  show.quote(quotes)
  show.good(`${joined.type}: ${quotes.length} rows are one record again, as before the wrap`)
}

async function messageOf(log: Buffer): Promise<EventOf<'agent.message.final'>> {
  for await (const event of tap({ pty: Readable.from([log]), exit: 0 }).pipe(events(codex)))
    if (event.type === 'agent.message.final') return event
  throw new Error('the recording has no message')
}

async function doubled(): Promise<void> {
  show.part(2, 'A doubled record is dropped')
  const run = 'fixtures/codex/07a-file-write.tee80'
  const logs = { stdout: readFileSync(`${run}/stdout.log`), pty: readFileSync(`${run}/pty-output.log`) }
  const read = (channels: readonly ('stdout' | 'pty')[]) =>
    tap({ ...Object.fromEntries(channels.map((name) => [name, Readable.from([logs[name]])])), exit: 0 })
      .pipe(events(codex))
      .toArray()
  const both = await read(['stdout', 'pty'])
  const stdout = await read(['stdout'])
  const pty = await read(['pty'])
  const one = both.find((event) => event.type === 'agent.message.final')
  const twin = pty.find((event) => event.type === 'agent.message.final')
  assert(one && twin)
  assert.deepEqual(both.map(dataOf), stdout.map(dataOf))
  const records = { stdout: lineEnds(logs.stdout), pty: lineEnds(logs.pty) }

  show.note('The agent writes to a pipe and to a terminal, and both are read.')
  show.source(run)
  show.quote([quoteOf(one, logs.stdout), quoteOf(twin, logs.pty)])
  show.good(`${one.type}, once: ${JSON.stringify(one.data.text)}`)
  show.good(
    `${records.stdout + records.pty} records in (${records.stdout} on stdout, ${records.pty} on the PTY); ` +
      `${both.length} events out, as from stdout`,
  )
}

async function failedTool(): Promise<void> {
  show.part(3, 'A failed tool, with its output and its bytes')
  const run = 'fixtures/codex/03b-tool-fail.pipe'
  const log = readFileSync(`${run}/stdout.log`)
  const { call, completion } = await why(replay(run))
  assert(call?.raw_ref && completion)
  const { byte_from, byte_to, stream } = call.raw_ref
  const words = ['why', run, '--bytes']
  // The built command if there is one: it starts faster than the sources.
  const built = 'dist/cli/main.js'
  const program = existsSync(built) ? [built] : ['--import', 'tsx', 'src/cli/main.ts']
  const command = spawnSync(process.execPath, [...program, ...words])
  assert.equal(command.stdout.toString(), log.toString('utf8', byte_from, byte_to))

  show.note(`The agent went on after it and left with exit code ${completion.evidence.exit_code}.`)
  show.source(run)
  show.quote([piece(stream, log, byte_from, byte_to)])
  show.bad(`${call.subject} · exit ${call.exit_code}`)
  for (const line of call.lines) show.note(`  │ ${line}`)
  show.command(`npx agent-sluice ${words.join(' ')}`)
  show.note(`  prints these ${command.stdout.length} bytes`)
}

async function payload(): Promise<void> {
  show.part(4, 'A payload is repaired, and a schema decides')
  const run = 'fixtures/gemini/xml_json.text-pipe'
  const log = readFileSync(`${run}/stdout.log`)
  const line = { type: 'integer' }
  const issue = { type: 'object', required: ['file', 'line'], properties: { line } }
  const schema = {
    type: 'object',
    required: ['issues'],
    properties: { issues: { type: 'array', items: issue } },
  }
  const read = async (bytes: Buffer) => {
    const [outcome] = await tap(Readable.from([bytes]))
      .pipe(values({ tag: 'json', pick: 'last', schema }))
      .toArray()
    assert(outcome)
    return outcome
  }

  show.note('The answer is in <json>, behind a draft in <thinking>.')
  show.source(run)
  const good = await read(log)
  assert(good.ok)
  show.quote([piece('stdout', log, good.frame.from, good.frame.to)])
  for (const { kind, at, before } of good.notes.flatMap(({ changes = [] }) => changes))
    show.good(`byte ${at}: ${kind} (${before})`)
  show.good(`the schema takes it: ${JSON.stringify(good.value)}`)

  show.blank()
  show.note('Changed here: where a guess could be wrong, there is no value.')
  for (const changed of ['"line":1,200', '"line":"1,200"']) {
    const bytes = Buffer.from(log.toString().replace('"line":1', changed))
    const bad = await read(bytes)
    assert(!bad.ok)
    const { code, at, errors = [] } = bad.fault
    const from = bytes.indexOf(changed)
    show.quote([piece('stdout', bytes, from, from + changed.length)])
    const reasons = errors.map(({ path, message }) => `${path} ${message}`)
    const reason = bad.fault.broken ? `expected ${bad.fault.broken.expected}` : reasons.join(', ')
    show.bad(`${code}${at === undefined ? '' : ` at byte ${at}`}: ${reason}`)
  }
}

async function silent(): Promise<void> {
  show.part(5, 'Exit code 0 is not success')
  const run = 'fixtures/cline/sigint.pipe'
  const log = readFileSync(`${run}/stdout.log`)
  show.note('The agent was interrupted with Ctrl-C and left without a word about its end.')
  show.source(run)
  const recorded = await replay(run).toArray()
  const last = recorded.findLast((event) => event.type === 'agent.message.delta')
  assert(last)
  show.quote([quoteOf(last, log)])
  show.open(await endOf(recorded))
  show.blank()
  show.note('A program that is started now, and writes nothing.')
  const nothing = await tap(spawn(process.execPath, ['-e', '0']))
    .pipe(events(codex))
    .toArray()
  assert(nothing.every(({ raw_ref }) => raw_ref === null))
  show.open(await endOf(nothing))
}

async function endOf(run: readonly Event[]): Promise<string> {
  const { outcome, completion } = await why(run)
  assert(completion)
  assert.equal(outcome, 'unknown')
  return `${outcome} (${completion.reason_code}, exit ${completion.evidence.exit_code})`
}

function next(): void {
  show.blank()
  show.head('Next')
  show.commands([
    ['npx agent-sluice chat fixtures/codex/03b-tool-fail.pipe', 'read that run'],
    ['npx agent-sluice serve fixtures', 'all runs, in a page'],
    ['codex exec --json "fix the test" | npx agent-sluice chat', 'your own agent'],
  ])
}

function dataOf({ type, data }: Event): unknown {
  return { type, data }
}

function placeOf({ raw_ref }: Event): { from: number; to: number } {
  assert(raw_ref)
  return { from: raw_ref.byte_from, to: raw_ref.byte_to }
}

function bytesOf(event: Event, log: Buffer): Buffer {
  const { from, to } = placeOf(event)
  return log.subarray(from, to)
}

/** The bytes that an event was made of. */
function quoteOf(event: Event, log: Buffer): Quote {
  const { from, to } = placeOf(event)
  return piece(event.raw_ref!.stream, log, from, to)
}

function piece(channel: string, log: Buffer, from: number, to: number): Quote {
  return { channel, from, bytes: log.subarray(from, to) }
}

function rowsOf(channel: string, log: Buffer, from: number, to: number): Quote[] {
  const rows: Quote[] = []
  for (let at = from; at < to; ) {
    const end = log.indexOf('\n', at) + 1
    rows.push(piece(channel, log, at, end))
    at = end
  }
  return rows
}

function lineEnds(bytes: Buffer): number {
  return bytes.toString('latin1').split('\n').length - 1
}
