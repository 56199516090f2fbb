import { expect, test } from 'vitest'
import { programOf } from '../../src/engines/command-line.ts'
import { engineNamed } from '../../src/engines/engine-name.ts'
import { blindTo, engineOfCommand, missingOptions, talkingEngine } from '../../src/engines/programs.ts'

const words = (line: string) => line.match(/"[^"]*"|\S+/g)!.map((word) => word.replaceAll('"', ''))

test.each([
  ['codex exec', 'codex'],
  ['/usr/bin/claude -p x', 'claude'],
  ['npx -y @openai/codex@0.169.0 exec', '@openai/codex'],
  ['npx opencode-ai run', 'opencode-ai'],
  ['npx gemini@latest -p x', 'gemini'],
  ['C:\\tools\\codex.cmd exec', 'codex'],
])('%s is a command of %s', (line, name) => {
  expect(programOf(words(line))).toBe(name)
})

// What an agent that is started in its text mode lacks; nothing for one that prints records, or has no task.
test.each<[string, string | undefined]>([
  ['claude -p "fix it"', '--output-format stream-json --verbose'],
  ['claude "fix it"', '-p --output-format stream-json --verbose'],
  ['npx @anthropic-ai/claude-code -p hi', '--output-format stream-json --verbose'],
  ['claude -p x --output-format text', '--output-format stream-json --verbose'],
  ['claude -p x --output-format=json', undefined],
  ['claude -p x --output-format stream-json --verbose', undefined],
  ['codex exec hi', '--json'],
  ['codex "fix it"', 'exec --json'],
  ['codex exec --json hi', undefined],
  ['codex app-server', undefined],
  ['codex login', undefined],
  ['gemini -p "fix it"', '-o stream-json'],
  ['gemini -p "fix it" -o json', undefined],
  ['gemini --acp', undefined],
  ['qwen -p "fix it"', '-o stream-json'],
  ['opencode run "fix it"', '--format json'],
  ['opencode run --format json "fix it"', undefined],
  ['kilo run hi', '--format json'],
  ['copilot -p "fix it"', '--output-format json'],
  ['pi -p "fix it"', '--mode json'],
  ['pi --mode json "fix it"', undefined],
  ['cline "fix it"', '--json'],
  ['amp -x "fix it"', '--stream-json'],
  ['cursor-agent -p "fix it"', '--output-format stream-json'],
  ['droid exec "fix it"', '--output-format stream-json'],
  ['nanocoder run "fix it"', '--json'],
  ['cn -p "fix it"', '--format json'],
  ['grok -p "fix it"', undefined],
  ['iflow -p "fix it"', undefined],
  ['claude --version', undefined],
  ['./my-agent "fix it"', undefined],
])('%s lacks %s', (line, missing) => {
  expect(missingOptions(words(line))).toBe(missing)
})

test('a prompt on stdin is a task', () => {
  expect(missingOptions(['claude', '--model', 'opus'], true)).toBe('-p --output-format stream-json --verbose')
})

test.each<[string, string | undefined]>([
  ['gemini --acp', 'acp'],
  ['gemini --experimental-acp', 'acp'],
  ['opencode acp', 'acp'],
  ['codex-acp', 'acp'],
  ['npx @zed-industries/codex-acp', 'acp'],
  ['copilot --acp', 'acp'],
  ['codex app-server', 'codex'],
  ['claude -p --input-format stream-json --output-format stream-json', 'claude'],
  ['qwen --input-format stream-json -o stream-json', 'qwen'],
  ['my-agent --input-format=stream-json', 'claude'],
  ['gemini -p x', undefined],
  ['claude -p acp-is-a-protocol', undefined],
])('%s talks as %s', (line, engine) => {
  expect(talkingEngine(words(line))).toBe(engine)
})

test('each engine that is named here exists', () => {
  for (const line of ['codex', 'claude', 'cursor-agent', 'cn', '@google/gemini-cli']) {
    const name = engineOfCommand([line])
    expect(engineNamed(name), line).toBeDefined()
  }
  expect(blindTo('codex')).toEqual(['cost'])
  expect(blindTo('one of my own')).toEqual([])
})
