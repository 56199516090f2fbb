// Makes the pictures of the terminal in docs/images: npx tsx scripts/terminal-pictures.ts The pictures show
// the output of the command itself, or of npm start, in colors. The first run is a toy agent that writes
// Codex's records; the others are fixtures, recorded from the real CLIs.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { widthOf } from '../src/cli/draw/width.ts'

const COLUMNS = 88
const root = fileURLToPath(new URL('..', import.meta.url))
const images = join(root, 'docs', 'images')
const home = mkdtempSync(join(tmpdir(), 'sluice-pictures-'))

const item = (phase: string, id: number, more: object) => ({
  type: `item.${phase}`,
  item: { id: `item_${id}`, ...more },
})
const call = { type: 'command_execution', command: "/bin/bash -lc 'npm test -- clock'" }
const failure = 'clock\n  ✕ adds a day across a change of the clocks\n    expected 03:00, got 02:00\n'
const answer = `The test passes now. A day was added as **24 hours**; adding it to the calendar date is right:

\`\`\`js
const next = new Date(date)
next.setDate(next.getDate() + 1)
\`\`\`

- \`next\` follows the wall clock
- 12 other tests still pass

| Zone | Before | After |
| --- | ---: | ---: |
| 東京 | 03:00 | 03:00 |
| Berlin | 02:00 | 03:00 |`
const records = [
  { type: 'thread.started', thread_id: '0199a213-81c0-7800-8aa1-bbab2a035a53' },
  { type: 'turn.started' },
  item('completed', 0, {
    type: 'reasoning',
    text: 'The clock test fails only in winter. That smells of daylight saving time.',
  }),
  item('started', 1, { ...call, aggregated_output: '', exit_code: null, status: 'in_progress' }),
  item('completed', 1, { ...call, aggregated_output: failure, exit_code: 1, status: 'failed' }),
  { type: 'error', message: 'Reconnecting... 1/5' },
  { type: 'error', message: 'Reconnecting... 2/5' },
  item('completed', 2, {
    type: 'file_change',
    changes: [{ path: 'src/clock.js', kind: 'update' }],
    status: 'completed',
  }),
  item('completed', 3, {
    ...call,
    aggregated_output: 'clock\n  ✓ 13 tests\n',
    exit_code: 0,
    status: 'completed',
  }),
  item('completed', 4, { type: 'agent_message', text: answer }),
  {
    type: 'turn.completed',
    usage: { input_tokens: 18_420, cached_input_tokens: 15_360, output_tokens: 612 },
  },
]

/** Writes a run as `sluice run` would have recorded it. */
function record(name: string): void {
  const dir = join(home, '.audit', name)
  mkdirSync(dir, { recursive: true })
  const lines = records.map((record) => `${JSON.stringify(record)}\n`)
  writeFileSync(join(dir, 'stdout.1.log'), lines.join(''))
  const started_at = '2026-11-15T09:12:03.000Z'
  const argv = ['codex', 'exec', '--json', 'fix the clock test']
  const meta = { engine: 'codex', argv, cwd: home, started_at, duration_ms: 21_400, exit_code: 0 }
  writeFileSync(join(dir, 'meta.1.json'), JSON.stringify(meta))
  let from = 0
  const chunks = lines.map((line, index) => {
    const length = Buffer.byteLength(line)
    const chunk = ['stdout', from, length, index * 2100]
    from += length
    return JSON.stringify(chunk)
  })
  writeFileSync(join(dir, 'chunks.1.jsonl'), `${chunks.join('\n')}\n`)
}

/** The output of the command on a terminal with these colors. */
function sluice(words: readonly string[]): string {
  const main = join(root, 'src/cli/main.ts')
  const tsx = join(root, 'node_modules/tsx/dist/loader.mjs')
  const { stdout } = spawnSync(process.execPath, ['--import', tsx, main, ...words, '--color'], {
    cwd: home,
    env: { ...process.env, COLUMNS: String(COLUMNS) },
    encoding: 'utf8',
  })
  return stdout
}

const colors: Record<number, string> = {
  31: '#ff7b72',
  32: '#7ee787',
  33: '#e3b341',
  35: '#d2a8ff',
  36: '#79c0ff',
}

/**
 * Text with SGR sequences as an SVG: each run of characters is at its column, whatever the width of the font.
 */
function svg(title: string, text: string): string {
  const [across, down, margin] = [8.4, 19, 16]
  const lines = text.trimEnd().split('\n')
  const rows = lines.map((line, row) => {
    const y = margin + 14 + row * down
    let column = 0
    const spans = line.split('\u001b[').map((part, index) => {
      const end = index === 0 ? -1 : part.indexOf('m')
      const codes = index === 0 ? [] : part.slice(0, end).split(';').map(Number)
      const shown = part.slice(end + 1)
      const x = margin + column * across
      column += widthOf(shown)
      if (shown.trim() === '') return ''
      const fill =
        codes.map((code) => colors[code]).find(Boolean) ?? (codes.includes(2) ? '#8b949e' : '#e6edf3')
      const weight = codes.includes(1) ? ' font-weight="bold"' : ''
      const slant = codes.includes(3) ? ' font-style="italic"' : ''
      const under = codes.includes(4) ? ' text-decoration="underline"' : ''
      return pieces(shown)
        .map(([piece, at]) => {
          const width = (widthOf(piece) * across).toFixed(1)
          return `<text x="${(x + at * across).toFixed(1)}" y="${y}" fill="${fill}"${weight}${slant}${under} textLength="${width}">${escaped(piece)}</text>`
        })
        .join('')
    })
    return spans.join('')
  })
  const width = Math.ceil(margin * 2 + COLUMNS * across)
  const height = margin * 2 + lines.length * down
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" xml:space="preserve"><title>${escaped(title)}</title><rect width="100%" height="100%" rx="8" fill="#0d1117"/>${rows.join('\n')}</svg>\n`
}

/** The parts of a line between wide gaps, and their columns: a row of blanks is drawn as one. */
function pieces(text: string): [piece: string, column: number][] {
  return [...text.matchAll(/\S+(?: \S+)*/g)].map((match) => [match[0], widthOf(text.slice(0, match.index))])
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

function picture(name: string, ...words: string[]): void {
  const typed = words.filter((word) => word !== '--draw').join(' ')
  write(name, `sluice ${typed}`, sluice(words))
}

function write(name: string, typed: string, shown: string): void {
  if (shown === '') throw new Error(`${typed} wrote nothing`)
  writeFileSync(join(images, `${name}.svg`), svg(typed, `\u001b[32m$\u001b[0m ${typed}\n${shown}`))
}

/** What `npm start` writes. */
function start(): string {
  const { stdout } = spawnSync(process.execPath, [join(root, 'scripts/start.js')], {
    env: { ...process.env, COLUMNS: String(COLUMNS), FORCE_COLOR: '1' },
    encoding: 'utf8',
  })
  return stdout
}

mkdirSync(images, { recursive: true })
record('fix-the-clock')
cpSync(join(root, 'fixtures/codex/08a-http-429.pipe'), join(home, '.audit/outage'), { recursive: true })
cpSync(join(root, 'fixtures/codex/03b-tool-fail.pipe'), join(home, '.audit/flaky'), { recursive: true })
picture('terminal-chat', 'chat', '.audit/fix-the-clock', '--draw')
picture('terminal-failed', 'chat', '.audit/outage', '--draw')
picture('terminal-why', 'why', '.audit/flaky')
write('terminal-start', 'npm start', start())
