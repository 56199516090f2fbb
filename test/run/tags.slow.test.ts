import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { run } from '../../src/run/run.ts'
import { serving, shutAll } from '../serve/serving.ts'
import { codexLines, workspace } from './agent.ts'

afterEach(shutAll)

const says = (cwd: string) => ['-e', `console.log(${JSON.stringify(codexLines.join('\n'))})`, cwd]

test('the tags of a run are in its meta and in the list, and pick it', async () => {
  const { cwd, audit: runs } = workspace()
  const options = { engine: 'codex', cwd, runs, fsDiff: false } as const
  const tags = { team: 'web', ticket: 'A-7, again' }
  const tagged = run(process.execPath, says(cwd), { ...options, tags })
  await tagged.end
  await run(process.execPath, says(cwd), { ...options, tags: { team: 'core' } }).end
  await run(process.execPath, says(cwd), options).end
  expect(JSON.parse(readFileSync(join(tagged.audit!, 'meta.1.json'), 'utf8'))).toMatchObject({ tags })

  const { url } = await serving(runs)
  const ask = async (query: string) =>
    (await (await fetch(`${url}runs${query}`)).json()) as { run_id: string; tags?: object }[]
  expect((await ask('')).map((info) => info.tags)).toEqual([undefined, { team: 'core' }, tags])
  const both = `?${new URLSearchParams([
    ['tag', 'team=web'],
    ['tag', 'ticket=A-7, again'],
  ])}`
  expect((await ask(both)).map(({ run_id }) => run_id)).toEqual([tagged.runId])
  expect(await ask('?tag=team%3Dweb&engine=claude')).toEqual([])
  expect(await ask('?engine=codex&limit=2')).toHaveLength(2)
  expect(await ask('?find=a-7&outcome=finished,failed')).toHaveLength(1)
  expect(await ask('?tag=team')).toEqual([])
})

test('a reply adds its tags to those of the run', async () => {
  const { cwd, audit } = workspace()
  const options = { engine: 'codex', cwd, audit, fsDiff: false } as const
  await run(process.execPath, says(cwd), { ...options, tags: { team: 'web', try: '1' } }).end
  await run(process.execPath, says(cwd), { ...options, tags: { try: '2' } }).end
  const { url } = await serving(audit)
  const [info] = (await (await fetch(`${url}runs`)).json()) as object[]
  expect(info).toMatchObject({ attempts: 2, tags: { team: 'web', try: '2' } })
})

test.each([
  [{ 'a=b': 'c' }],
  [{ '': 'c' }],
  [{ a: 'two\nlines' }],
  [{ a: 7 }],
  [{ a: 'x'.repeat(201) }],
  [Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`t${at}`, '']))],
])('tags that no list can show are refused: %j', async (tags) => {
  const { audit } = workspace()
  await expect(run('true', [], { audit, tags: tags as never }).end).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining('tags'),
  })
})

test('tags of a run that is not recorded are refused', async () => {
  await expect(run('true', [], { tags: { a: 'b' } }).end).rejects.toMatchObject({ code: 'BAD_OPTION' })
})

test('a secret in a tag of a redacted run is not recorded', async () => {
  const { cwd, audit } = workspace()
  const secret = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'
  await run(process.execPath, says(cwd), { cwd, audit, redact: true, tags: { key: secret } }).end
  expect(readFileSync(join(audit, 'meta.1.json'), 'utf8')).not.toContain(secret)
})
