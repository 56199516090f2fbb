import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, test } from 'vitest'
import { built } from './built.ts'
import { pageAt } from './page-programs.ts'

// The shell lines of docs/replacing-your-parser.md; its programs are in page-examples.ts.

const page = pageAt('docs/replacing-your-parser.md')
const hasJq = spawnSync('jq', ['--version']).status === 0
const needsJq = hasJq ? '' : ' (skipped: jq is not installed)'

/** Runs the lines under `<!-- example: name -->` where `gemini` prints what the page shows. */
function shell(name: string) {
  const [, lines = ''] = page.split(`<!-- example: ${name} -->\n\`\`\`sh\n`)
  const [, printed = ''] = page.split('have to say:\n\n```\n')
  const dir = mkdtempSync(join(tmpdir(), 'sluice-shell-'))
  const command = (called: string, script: string) =>
    writeFileSync(join(dir, called), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  writeFileSync(join(dir, 'printed'), printed.slice(0, printed.indexOf('```')))
  writeFileSync(join(dir, 'answer.schema.json'), '{"type":"object","required":["response"]}')
  command('gemini', `cat '${join(dir, 'printed')}'`)
  command('npx', `shift; exec '${process.execPath}' '${built('src/cli/main.ts')}' "$@"`)
  return spawnSync('sh', ['-c', lines.slice(0, lines.indexOf('```'))], {
    cwd: dir,
    env: { ...process.env, PATH: [dir, process.env['PATH']].join(delimiter) },
    encoding: 'utf8',
  })
}

test.runIf(hasJq)(`jq alone fails on the output of the page, and gives no answer${needsJq}`, () => {
  const { status, stdout, stderr } = shell('jq-before')
  expect(status).not.toBe(0)
  expect(stdout).toBe('')
  expect(stderr).toContain('parse error')
})

test('sluice run --quiet gives the answer', () => {
  const { status, stdout } = shell('jq-after')
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'Done.\n' })
})

test.runIf(hasJq)(`sluice values gives the document to jq${needsJq}`, () => {
  expect(shell('jq-values')).toMatchObject({ status: 0, stdout: 'Done.\n', stderr: '' })
})
