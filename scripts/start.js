// Shows the main job on a recorded run that is bundled with the repository: what came in, what came out.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const run = 'fixtures/codex/07a-file-write.tee80'
const cli = 'dist/cli/main.js'

if (!existsSync(cli)) sh('npm', ['run', 'build'])

const bytes = Object.fromEntries(
  ['stdout.log', 'stderr.log', 'pty-output.log'].map((name) => [name, readFileSync(`${run}/${name}`)]),
)
title('What came in: a real Codex run, on stdout, and once more on a PTY')
for (const [name, content] of Object.entries(bytes))
  console.log(`  ${name.padEnd(16)}${content.length} bytes`)
console.log()
for (const line of bytes['pty-output.log'].toString('utf8').split('\n').slice(0, 6)) {
  console.log(`  ${line.replace('\r', '\\r').slice(0, 108)}…`)
}

title('What came out: each thing once (sluice replay)')
sh(process.execPath, [cli, 'replay', run, '--draw'])

title('And a payload out of prose (sluice values)')
const prose = 'Sure, here is the json: <json> { "a": 1, } </json> Hope this helps!'
console.log(`  ${prose}\n`)
sh(process.execPath, [cli, 'values', '--tag', 'json'], prose)

title('Next')
console.log(`  npx agent-sluice serve fixtures          every recorded run as a page, each message linked to its bytes
  npx agent-sluice chat < some-run.log     your own run; the engine is recognised by its shape
  npx agent-sluice --help`)

function title(text) {
  console.log(`\n── ${text}\n`)
}

function sh(command, args, input) {
  const { status } = spawnSync(command, args, {
    input,
    stdio: [input ? 'pipe' : 'ignore', 'inherit', 'inherit'],
  })
  if (status !== 0) process.exit(status ?? 1)
}
