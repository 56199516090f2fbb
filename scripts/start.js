// What `npm start` shows: a real Codex run, replayed at its own pace as a conversation, and where to go next.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const main = `${root}dist/cli/main.js`

if (!existsSync(main)) {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { status } = spawnSync(npm, ['run', 'build'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}

const recorded = 'fixtures/codex/07a-file-write.tee80'
console.log(`A recorded run of Codex (${recorded}), as a conversation:\n`)
const { status } = spawnSync(process.execPath, [main, 'replay', recorded, '--draw', '--speed', 'real'], {
  cwd: root,
  stdio: ['ignore', 'inherit', 'inherit'],
})
console.log(`
Look at it beside its raw bytes:   npx sluice serve fixtures     (then open http://127.0.0.1:4180/)
Record a run of your own:          npx sluice run -- codex exec --json "say hello"
The same bytes as events:          npx sluice replay ${recorded} --json`)
process.exitCode = status ?? 1
