import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inside } from './inside.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-misuse-'))
const path = (name: string, text: string) => {
  writeFileSync(join(dir, name), text)
  return join(dir, name)
}
const log = path('run.log', 'hello\n')
const broken = path('broken.json', '{')
const list = path('list.json', '[]')
const object = path('object.json', '{"type":"object"}')
const none = join(dir, 'none')

/** What is typed, and what must be in the line that says what is wrong with it. */
const misuses: readonly (readonly [string[], string])[] = [
  [['nope'], 'there is no command "nope"; sluice --help lists them'],
  [['vlaues'], 'there is no command "vlaues"; did you mean values?'],
  [['help', 'nope'], 'there is no command "nope"'],
  [['--nope'], 'has no option "--nope"; sluice --help-all lists them'],
  [['run'], 'the command is missing; the usage is: sluice run [options] <command...>'],
  [['run', '--nope', '--', 'x'], 'run has no option "--nope"; sluice run --help-all lists them'],
  [['run', '--tiemout', '1s', '--', 'x'], 'did you mean --timeout?'],
  [['run', '--timeout', 'soon', '--', 'x'], '--timeout cannot be "soon"; give a time such as 500ms'],
  [
    ['run', '--timeout', "'a' is invalid. '", '--', 'x'],
    `--timeout cannot be "'a' is invalid. '"; give a time`,
  ],
  [
    ['run', '--limit-tokens', '0', '--', 'x'],
    '--limit-tokens cannot be "0"; it must be a whole number above 0',
  ],
  [['run', '--limit-cost', 'x', '--', 'x'], '--limit-cost cannot be "x"; give an amount'],
  [['run', '--limit-cost'], '--limit-cost has no value; give it as --limit-cost <amount>'],
  [['run', '--rounds', 'x', '--', 'x'], '--rounds cannot be "x"'],
  [['run', '--prompt', '--', 'x'], '--prompt has no value; give it as --prompt <text>'],
  [['run', '--rounds', '1', '--', 'true'], 'give a --schema, too'],
  [['run', '--fsync', 'never', '--', 'true'], '--fsync cannot be "never"; it is one of each, interval, end'],
  [['run', '--engine', 'cdx', '--', 'true'], 'did you mean codex?'],
  [['run', '--color=often', '--', 'true'], '--color cannot be "often"; it is one of always, auto, never\n'],
  [['run', '--audit', none, '--color', 'never', '--', './none'], 'cannot start "./none"'],
  [
    ['run', '--audit', none, '--color', 'often', '--', 'true'],
    'cannot start "often": no such command; is it installed and on PATH? It is the first word that is no option of sluice; the "--" after it is for it\n',
  ],
  // What follows the name of the command is for it.
  [['run', '--audit', none, './none', '--color', 'never'], 'cannot start "./none"'],
  [['run', '--engine', './no.js', '--', 'true'], '"./no.js" has no usable engine'],
  [['run', '--pipes', '--', 'true'], '--pipes is for --pty; add that, or leave it out'],
  [['run', '--tee', '--json', '--', 'true'], 'leave out --json'],
  [['run', '--talk', '--', 'true'], '--talk needs a --prompt'],
  [
    ['run', '--talk', '--prompt', 'x', '--', 'claude', '-p'],
    'start it as claude -p --input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio\n',
  ],
  [['run', '--talk', '--prompt', 'x', '--', 'true'], 'name its --engine: acp, codex (app-server), claude or'],
  [['run', '--json', '--draw', '--', 'true'], 'leave it out to draw, or leave out the others'],
  [['run', '--quiet', '--full', '--', 'true'], 'leave out --full and --verbose'],
  [['run', '--otel-content', '--', 'true'], '--otel-content is for --otel; add that, or leave it out'],
  [['run', '--no-redact', '--', 'true'], '--no-redact is for --github; add that, or leave it out'],
  [['run', '--cache', none, '--', 'true'], 'give a --schema, too'],
  [['run', '--audit', none, '--attempt-of', none, '--', 'true'], 'exclude each other; leave one of them out'],
  [['run', '--attempt-of', none, '--', 'true'], 'give the audit directory itself'],
  [['run', '--schema', none, '--', 'true'], 'cannot read '],
  [['run', '--schema', broken, '--', 'true'], 'is not JSON: '],
  [['run', '--schema', list, '--', 'true'], 'must be a JSON object'],
  [['run', '--run-id', '', '--', 'true'], '--run-id must be one line that is not empty'],
  [['events', none], 'cannot read '],
  [['events', dir], 'give the audit directory itself'],
  [['events', log, '--exit', 'x'], '--exit cannot be "x"; it must be a whole number'],
  [['events', log, '--stdout', log], 'FILE and --stdout are the same thing; give one of them'],
  [['events', log, '--session', 'x'], '--session is for an OpenCode database; leave it out'],
  [['events', log, '--done-marker', ''], '--done-marker is empty; name the key'],
  [['events', log, log], 'there are too many arguments; the usage is: sluice events [options] [file]'],
  [['events', log, '--retries', '1'], 'events has no option "--retries"'],
  [['chat', log, '--json', '--draw'], 'leave it out to draw'],
  [['chat', '--follow', '--stdout', '-'], '--follow is for a file'],
  [['replay', none], 'cannot read '],
  [['replay', log, '--attempt', '0'], '--attempt cannot be "0"'],
  [['replay', log, '--speed', 'fast'], '--speed cannot be "fast"; it is one of full, real'],
  [['reply'], 'the text is missing; the usage is: sluice reply [options] [dir] <text>'],
  [['reply', 'a', 'b', 'c'], 'put quotes around the text'],
  [['reply', none, 'text'], 'the run cannot be continued: '],
  [['export', log], 'the format is missing; say what to write with --to'],
  [['export', log, '--to', 'pdf'], '--to cannot be "pdf"; it is one of md, html, json'],
  [['export', log, '--to', 'md', '--hide-env', 'NOPE_X'], 'set it, or leave the option out'],
  [['export', log, '--to', 'md', '--home', 'x'], '--home is for --last; add that, or leave it out'],
  [['why', log, '--bytes', '--json'], 'exclude each other; leave one of them out'],
  [['serve', none], 'cannot serve '],
  [['serve', '--port', '99999'], '--port cannot be "99999"; give a number between 0 and 65535'],
  [['serve', '--tenant', 'x'], '--tenant is for --from; add that, or leave it out'],
  [['ship', dir], '--to is missing; give it as --to <addresses>'],
  [['ship', none, '--to', 'nats://127.0.0.1:1'], 'cannot read '],
  [['ship', dir, '--to', ''], 'an address of NATS is empty; give one such as nats://127.0.0.1:4222'],
  [['mirror'], '--from is missing; give it as --from <addresses>'],
  [['work', '--', 'true'], '--order is missing; give it as --order <file>'],
  [['work', '--order', none, '--', 'true'], 'cannot read '],
  [['work', '--order', broken, '--', 'true'], 'is not JSON'],
  [['ask'], 'the command is missing; give it after --'],
  [['ask', '--', 'true'], 'the prompt is empty; give one'],
  [['ask', '--retries', '2', 'x', '--', 'cat'], 'ask has no option "--retries"; it is called --rounds now'],
  [['engines', 'x'], 'there are too many arguments; the usage is: sluice engines [options]'],
  [['sessions', '--engine', 'x'], '--engine cannot be "x"; it is one of claude, codex'],
  [['prune', none, '--older', '1d'], 'name the directory of the runs'],
  [['prune', '--keep', 'x'], '--keep cannot be "x"; it is one of succeeded'],
  [['ls', '--outcome', 'x'], '--outcome cannot be "x"; it is one of running'],
  [['ls', none], 'name the directory of the runs'],
  [['stop'], 'the directory of the run is missing; name it, or add --last'],
  [['interrupt', '--last', dir], '--last finds the run itself; leave out the directory'],
  [['stop', '--last'], 'there is no last run: no .audit/latest here'],
  [['answer', '--last', 'cancel'], 'there is no last run: no .audit/latest here'],
  [['drift'], 'the dir is missing; the usage is: sluice drift [options] <dir...>'],
  [['completion', 'tcsh'], 'shell cannot be "tcsh"; it is one of bash, zsh, fish'],
  [['values', log, '--lines', '--tag', 'x'], '--tag and --lines exclude each other; leave one of them out'],
  [['values', log, '--items', ''], '--items: "" is not a path; write '],
  [['values', log, '--where', 'type=x'], '--where is for --lines; add that, or leave it out'],
  [
    ['values', log, '--schema', object, '--pick', 'x'],
    '--pick cannot be "x"; it is one of each, first, last',
  ],
]

test.each(misuses)('%j is refused in one line: %s', async (args, words) => {
  const { code, out, err } = await inside(args, { stdin: '' })
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(words)
  // What is wrong, then what to do; a sentence of ours, on one line, without a full stop.
  expect(err).toMatch(/^sluice: (?!error)[^\n]+[^\n.]\n$/)
})

test('without a command, the commands are listed', async () => {
  const { code, err } = await inside([], { stdin: '' })
  expect([code, err]).toEqual([2, expect.stringMatching(/^Usage: sluice [\s\S]*\n$/)])
  expect(err).not.toContain('sluice: ')
})

test('control characters of a wrong option do not reach the terminal', async () => {
  const { err } = await inside(['run', '--\u001b[2J\nforged', '--', 'x'])
  expect(err).toBe(
    'sluice: run has no option "--\\u001b[2J\\u000aforged"; sluice run --help-all lists them\n',
  )
})
