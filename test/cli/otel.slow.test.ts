import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test, vi } from 'vitest'
import { openOtel } from '../../src/cli/otel-export.ts'
import { agent, workspace } from '../run/agent.ts'
import { inside } from './inside.ts'

const open: { close(): void }[] = []

afterEach(() => {
  vi.unstubAllEnvs()
  for (const server of open.splice(0)) server.close()
})

interface Sent {
  readonly path: string | undefined
  readonly key: string | string[] | undefined
  readonly body: string
}

/** A collector, and what was sent to it. */
async function collector(): Promise<Sent[]> {
  const sent: Sent[] = []
  const server = createServer(async (request, response) => {
    sent.push({ path: request.url, key: request.headers['x-key'], body: await text(request) })
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  open.push(server)
  const { port } = server.address() as AddressInfo
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}`)
  return sent
}

async function traced(...flags: string[]) {
  const { cwd, audit } = workspace()
  const { command, args = [] } = agent(cwd, 'for (const line of lines) say(line)')
  return await inside([
    ...['run', ...flags, '--engine', 'codex', '--cwd', cwd, '--audit', audit],
    ...['--', command, ...args],
  ])
}

test('run --otel sends the trace to where the environment says, without content', async () => {
  const sent = await collector()
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-key=abc')
  vi.stubEnv('OTEL_SERVICE_NAME', 'my-agents')
  const { code, err } = await traced('--otel')
  expect([code, err]).toEqual([0, expect.not.stringContaining('trace')])
  expect(sent.map(({ path, key }) => [path, key])).toEqual([['/v1/traces', 'abc']])
  const { resourceSpans } = JSON.parse(sent[0]!.body)
  expect(JSON.stringify(resourceSpans[0].resource)).toContain(
    '"service.name","value":{"stringValue":"my-agents"}',
  )
  const names = resourceSpans[0].scopeSpans[0].spans.map(({ name }: { name: string }) => name)
  expect(names).toContain('invoke_agent codex')
  expect(sent[0]!.body).not.toContain('gen_ai.output.messages')
})

test('content goes along when it is asked for, by the option or by the variable', async () => {
  const sent = await collector()
  await traced('--otel', '--otel-content')
  vi.stubEnv('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', 'true')
  await traced('--otel')
  expect(sent.map(({ body }) => body.includes('gen_ai.output.messages'))).toEqual([true, true])
})

test('a collector that is away is told, and changes nothing about the run', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:9')
  vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '300')
  const { code, err } = await traced('--otel')
  expect(code).toBe(0)
  expect(err).toContain('sluice: the trace could not be sent: ')
})

test('a package that is missing is named, with the line that installs it', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/protobuf')
  const { code, err } = await traced('--otel')
  expect(code).toBe(2)
  expect(err).toContain('--otel needs @opentelemetry/exporter-trace-otlp-proto, which is not installed')
  expect(err).toMatch(
    /npm install @opentelemetry\/api\S* @opentelemetry\/sdk-trace\S* @opentelemetry\/exporter-trace-otlp-proto/,
  )
})

test('what the environment turns off is not set up, and what cannot be done is said', () => {
  expect(openOtel({ OTEL_SDK_DISABLED: 'true' })).toBeUndefined()
  expect(openOtel({ OTEL_TRACES_EXPORTER: 'none' })).toBeUndefined()
  expect(() => openOtel({ OTEL_TRACES_EXPORTER: 'zipkin' })).toThrow(/cannot export to "zipkin"/)
  expect(() => openOtel({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toThrow(/does not support "grpc"/)
})

test('--otel-content alone is bad usage', async () => {
  expect(await traced('--otel-content')).toMatchObject({ code: 2 })
})
