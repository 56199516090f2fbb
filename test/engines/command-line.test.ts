import { expect, test } from 'vitest'
import { engines } from '../../src/engines/engines-by-name.ts'
import { resumeOf, taskInCommand } from '../../src/engines/programs.ts'
import type { LastTurn } from '../../src/events/engine.ts'

const UUID = '01a1e544-d6df-7772-a35e-6f823f650801'

/** What was typed, its task, and what is typed for the next turn in session S (`-`: cannot be continued). */
const rows: readonly [engine: keyof typeof engines, typed: string, task: string | undefined, next: string][] =
  [
    ['codex', 'codex exec --json Fix', 'Fix', 'codex exec --json resume S -'],
    [
      'codex',
      'codex exec --json -s workspace-write',
      undefined,
      'codex exec --json -s workspace-write resume S -',
    ],
    ['codex', 'codex -m x exec --json -', undefined, 'codex -m x exec --json resume S -'],
    ['codex', 'codex e -m other-model --json Fix', 'Fix', 'codex e -m other-model --json resume S -'],
    ['codex', 'codex exec --json -- --help', '--help', 'codex exec --json resume S -'],
    ['codex', `codex exec resume --json ${UUID} Go`, 'Go', 'codex exec --json resume S -'],
    ['codex', `codex exec --json resume ${UUID} -`, undefined, 'codex exec --json resume S -'],
    ['codex', `codex exec resume --json ${UUID}`, undefined, 'codex exec --json resume S -'],
    ['codex', 'codex exec resume --last --json Go', 'Go', 'codex exec --json resume S -'],
    ['codex', 'codex exec -i a.png b.png --json Fix', 'Fix', 'codex exec -i a.png b.png --json resume S -'],
    ['codex', 'codex exec -c model="o3" Fix', 'Fix', 'codex exec -c model="o3" resume S -'],
    ['codex', 'npx -y @openai/codex exec Fix', 'Fix', 'npx -y @openai/codex exec resume S -'],
    ['codex', 'codex exec --ephemeral --json Fix', 'Fix', '-'],
    ['codex', 'codex exec --unheard-of Fix', undefined, '-'],
    ['codex', 'codex exec --unheard-of=1 Fix', 'Fix', 'codex exec --unheard-of=1 resume S -'],
    ['codex', 'codex app-server', undefined, '-'],
    ['gemini', 'gemini -m pro -o stream-json -p Fix', 'Fix', 'gemini -m pro -o stream-json --resume S'],
    ['gemini', 'gemini -o json --prompt=Fix', 'Fix', 'gemini -o json --resume S'],
    ['gemini', 'gemini Fix it -o stream-json -y', 'Fix it', 'gemini -o stream-json -y --resume S'],
    ['gemini', 'node gemini.js -o text --resume old -p Fix', 'Fix', 'node gemini.js -o text --resume S'],
    ['gemini', 'gemini -i Fix', 'Fix', '-'],
    ['gemini', 'gemini --acp', undefined, '-'],
    [
      'qwen',
      'qwen --auth-type openai --approval-mode yolo -o stream-json --continue -p Fix',
      'Fix',
      'qwen --auth-type openai --approval-mode yolo -o stream-json --resume S',
    ],
    ['opencode', 'opencode run --format json Fix', 'Fix', 'opencode run --format json -s S'],
    ['opencode', 'opencode run --format json -s old Fix it', 'Fix it', 'opencode run --format json -s S'],
    ['opencode', 'opencode run -m a/b --thinking', undefined, 'opencode run -m a/b --thinking -s S'],
    ['opencode', 'opencode acp', undefined, '-'],
    ['kilo', 'kilo run --auto --format json Fix', 'Fix', 'kilo run --auto --format json -s S'],
    [
      'copilot',
      'copilot --output-format json --allow-all-tools -p Fix',
      'Fix',
      'copilot --output-format json --allow-all-tools --resume=S',
    ],
    [
      'copilot',
      'copilot --output-format json --resume=old --allow-tool shell(git:*) write -p Fix',
      'Fix',
      'copilot --output-format json --allow-tool shell(git:*) write --resume=S',
    ],
    ['pi', 'pi --mode json --provider mock -p Fix', 'Fix', 'pi --mode json --provider mock --session S -p'],
    ['pi', 'pi -p --mode json --session old', undefined, 'pi --mode json --session S -p'],
    ['pi', 'pi --mode json --no-session -p Fix', 'Fix', '-'],
    [
      'claude',
      'claude -p --output-format stream-json --verbose Fix',
      'Fix',
      'claude -p --output-format stream-json --verbose --resume=S',
    ],
    [
      'claude',
      'claude --allowedTools Bash Edit -r old -p Fix',
      'Fix',
      'claude --allowedTools Bash Edit -p --resume=S',
    ],
    ['claude', 'claude -p --no-session-persistence Fix', 'Fix', '-'],
  ]

test('an engine knows the task in its command line, and what continues it', () => {
  for (const [name, typed, task, next] of rows) {
    const { [name]: engine } = engines
    const argv = typed.split(/(?<!Fix) /)
    expect(taskInCommand(engine, argv), typed).toBe(task)
    expect(resumeOf(engine)?.({ argv, session: 'S' })?.join(' ') ?? '-', typed).toBe(next)
    // A continued turn is continued in the same way, and its prompt was on stdin.
    if (next === '-') continue
    const again: LastTurn = { argv: resumeOf(engine)!({ argv, session: 'R' })!, session: 'S', piped: true }
    expect(taskInCommand(engine, again.argv), typed).toBe(undefined)
    expect(resumeOf(engine)!(again)?.join(' '), typed).toBe(next)
  }
})

test('a task of many words, or with options in it, is one word of the command line', () => {
  const argv = ['codex', 'exec', '--json', 'fix --all of "it" $(now)']
  expect(taskInCommand(engines.codex, argv)).toBe('fix --all of "it" $(now)')
  expect(resumeOf(engines.codex)?.({ argv, session: 'S' })).toEqual([
    'codex',
    'exec',
    '--json',
    'resume',
    'S',
    '-',
  ])
})

test('after an unknown option a word is its value if the prompt was on stdin', () => {
  const argv = ['gemini', '--unheard-of', 'value', '-o', 'json']
  expect(resumeOf(engines.gemini)?.({ argv, session: 'S' })).toBe(undefined)
  const next = resumeOf(engines.gemini)?.({ argv, session: 'S', piped: true })
  expect(next).toEqual([...argv, '--resume', 'S'])
})

test('engines that have no session to continue say so by having no resume', () => {
  for (const name of ['cline', 'text', 'iflow', 'acp'] as const)
    expect(resumeOf(engines[name])).toBe(undefined)
})
