import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Tracer } from '@opentelemetry/api'
import { badOption, quote } from '../base/fault.ts'
import { version } from './version.ts'

/**
 * A tracer whose spans are exported by OTLP over HTTP, configured by the environment:
 * `OTEL_EXPORTER_OTLP_ENDPOINT`, `_HEADERS` and so on, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`. The
 * user installs the packages: they are resolved from the current directory, then from this program. Undefined
 * if the environment disables it.
 */
export function openOtel(env: NodeJS.ProcessEnv = process.env) {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return undefined
  const wanted = env['OTEL_TRACES_EXPORTER'] || 'otlp'
  if (wanted === 'none') return undefined
  if (wanted !== 'otlp')
    throw badOption(
      `--otel cannot export to ${quote(wanted)} (OTEL_TRACES_EXPORTER); set it to otlp or none, or leave it out`,
    )
  const sdk = load<TraceSdk>(['@opentelemetry/sdk-trace-base', '@opentelemetry/sdk-trace'])
  const { OTLPTraceExporter } = load<{ OTLPTraceExporter: new () => Exporter }>(exporterNames(env)).module
  // Cast and own require: it is a dependency of the SDK, which with some installers only the SDK can resolve.
  const resources = createRequire(sdk.path)('@opentelemetry/resources') as ResourcesModule
  const { envDetector, defaultResource, detectResources, resourceFromAttributes } = resources
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'agent-sluice' }))
    .merge(detectResources({ detectors: [envDetector] }))

  let failure: string | undefined
  const exporter = watched(new OTLPTraceExporter(), (why) => {
    failure = why
  })
  const { BasicTracerProvider, TracerProvider, BatchSpanProcessor } = sdk.module
  // The newer package takes the exporter as a named option, the older one as an argument.
  const processor = new BatchSpanProcessor(BasicTracerProvider ? exporter : { exporter })
  const Provider = BasicTracerProvider ?? TracerProvider
  const provider = new Provider({ resource, spanProcessors: [processor] })
  return {
    tracer: provider.getTracer('agent-sluice', version()),
    /** Sends the rest. Returns the reason if not everything could be sent. */
    async close(): Promise<string | undefined> {
      // The exporter has reported what went wrong.
      await provider.shutdown().catch(() => {})
      return failure
    },
  }
}

/** The packages for the protocol in the environment. */
function exporterNames(env: NodeJS.ProcessEnv): string[] {
  const { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: own, OTEL_EXPORTER_OTLP_PROTOCOL: all } = env
  const protocol = own || all
  const json = '@opentelemetry/exporter-trace-otlp-http'
  const protobuf = '@opentelemetry/exporter-trace-otlp-proto'
  if (!protocol) return [json, protobuf]
  if (protocol === 'http/json') return [json]
  if (protocol === 'http/protobuf') return [protobuf]
  throw badOption(
    `--otel exports over HTTP and does not support ${quote(protocol)} (OTEL_EXPORTER_OTLP_PROTOCOL); set it to http/json or http/protobuf`,
  )
}

/** The first of these packages that is installed. */
function load<T>(names: readonly string[]): { readonly module: T; readonly path: string } {
  let cause: unknown
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    const require = createRequire(from)
    for (const name of names) {
      try {
        // Cast: the caller says what the package exports.
        return { path: require.resolve(name), module: require(name) as T }
      } catch (error) {
        cause ??= error
      }
    }
  }
  throw badOption(`--otel needs ${names[0]}, which is not installed: ${installLine(names[0]!)}`, { cause })
}

/** SDK 3 needs Node 22.15; SDK 2 does not work with the newest API. */
function installLine(name: string): string {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const exporter = name.includes('exporter') ? name : '@opentelemetry/exporter-trace-otlp-http'
  return major > 22 || (major === 22 && minor >= 15)
    ? `npm install @opentelemetry/api @opentelemetry/sdk-trace ${exporter}`
    : `npm install @opentelemetry/api@1.9 @opentelemetry/sdk-trace-base@2 ${exporter}@0.223`
}

/** Reports how each export went: the SDK itself only writes to its own log. */
function watched(exporter: Exporter, failed: (why: string) => void): Exporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.code !== 0) failed(result.error?.message || 'the endpoint did not accept the spans')
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  }
}

// What is used of the packages, in all versions since 2.0: they are not dependencies, and have no types here.

interface Exporter {
  export(spans: unknown, done: (result: { code: number; error?: Error }) => void): void
  shutdown(): Promise<void>
  forceFlush?(): Promise<void>
}

interface Provider {
  getTracer(name: string, version: string): Tracer
  shutdown(): Promise<void>
}

type ProviderClass = new (options: { resource: Resource; spanProcessors: unknown[] }) => Provider

interface TraceSdk {
  readonly BasicTracerProvider?: ProviderClass
  readonly TracerProvider: ProviderClass
  readonly BatchSpanProcessor: new (exporter: Exporter | { exporter: Exporter }) => unknown
}

interface Resource {
  merge(other: Resource): Resource
}

interface ResourcesModule {
  readonly envDetector: unknown
  defaultResource(): Resource
  resourceFromAttributes(attributes: Readonly<Record<string, string>>): Resource
  detectResources(options: { detectors: unknown[] }): Resource
}
