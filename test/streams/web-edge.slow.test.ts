import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'tsup'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EdgeWorker, startWorker } from '../../scripts/matrix/edge.ts'
import { fetched, needsRuntime } from '../../scripts/matrix/runtimes.ts'
import { webBuild } from '../../scripts/web-build.ts'
import { readInNode, stdoutLogs } from '../engines/stdout-logs.ts'

/** The worker: it reads the body of a request through the doors for Web Streams. */
const program = `
import { auto, chat, events, parse, tryParse, values } from 'web.js'

const wanted = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => (typeof value.a === 'number' ? { value } : { issues: [{ message: 'a is no number', path: ['a'] }] }),
  },
}
const caught = (action) => {
  try {
    return action()
  } catch (error) {
    return { code: error.code ?? error.name, message: error.message }
  }
}
const ask = {
  code: () => caught(() => new Function('return 1')()),
  standard: () => [parse('{"a": 1}', { schema: wanted }), tryParse('{"a": "x"}', { schema: wanted }).fault.code],
  plain: () => [parse, values].map((door) => caught(() => void door(door === parse ? '{"a": 1}' : { schema: { type: 'object' } }, { schema: { type: 'object' } }))),
}

export default {
  async fetch(request) {
    const name = new URL(request.url).pathname.slice(1)
    if (ask[name]) return Response.json(ask[name]())
    const records = request.body.pipeThrough(events(auto, { clock: () => 0 })).pipeThrough(chat())
    let text = ''
    for await (const record of records) text += JSON.stringify(record) + '\\n'
    return new Response(text)
  },
}`

const binary = fetched('workerd')

describe.skipIf(!binary)(`the entry for the Web, in workerd${needsRuntime('workerd')}`, () => {
  let worker: EdgeWorker
  let code: string
  const ask = async (path: string) => (await fetch(new URL(path, worker.url))).json()

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'edge-'))
    await build({ ...webBuild, outDir: folder, config: false, silent: true, dts: false })
    code = readFileSync(join(folder, 'web.js'), 'utf8')
    writeFileSync(join(folder, 'worker.js'), program)
    worker = await startWorker(binary!, folder, ['worker.js', 'web.js'])
  }, 120_000)
  afterAll(() => worker?.close())

  test('reads every recorded stdout as Node does', async () => {
    const logs = stdoutLogs()
    expect(logs.length).toBeGreaterThan(100)
    for (const fixture of logs) {
      const body = fixture.logs[0]!.bytes
      const onEdge = await (await fetch(worker.url, { method: 'POST', body })).text()
      expect([fixture.engine, fixture.name, onEdge === readInNode(fixture)]).toEqual([
        fixture.engine,
        fixture.name,
        true,
      ])
    }
  })

  test('needs no code from strings, which is forbidden there', async () => {
    expect(await ask('/code')).toMatchObject({ code: 'EvalError' })
    expect(code).not.toMatch(/new Function|\beval\(/)
  })

  test('takes a Standard Schema', async () => {
    expect(await ask('/standard')).toEqual([{ a: 1 }, 'SCHEMA_FAILED'])
  })

  test('says what to do about a plain JSON Schema', async () => {
    const told = { code: 'BAD_OPTION', message: expect.stringContaining('jsonSchema(') }
    expect(await ask('/plain')).toEqual([told, told])
  })
})
