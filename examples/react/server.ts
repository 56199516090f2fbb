// Two React pages that follow a run, and the server for them: npx tsx examples/react/server.ts .audit
// It bundles the pages; `handler` answers for the runs.
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { handler } from 'agent-sluice/serve'
import { build } from 'esbuild'

const folder = fileURLToPath(new URL('.', import.meta.url))
const pages = ['ai-sdk', 'ag-ui'] as const

const [, , dir = '.audit', port = '4181'] = process.argv

const runs = handler({ dir, allow: () => true })
const scripts = new Map<string, string>()
for (const page of pages) {
  const bundle = await build({
    entryPoints: [`${folder}${page}.tsx`],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  scripts.set(`/${page}.js`, bundle.outputFiles[0]!.text)
}

const server = createServer((asked, response) => {
  const { pathname } = new URL(asked.url ?? '/', 'http://page')
  const script = scripts.get(pathname)
  if (script !== undefined) return response.writeHead(200, { 'content-type': 'text/javascript' }).end(script)
  const page = pages.find((name) => pathname === `/${name}`)
  if (!page) return runs(asked, response)
  const html = `<!doctype html><meta charset="utf-8"><title>${page}</title><body><script type="module" src="/${page}.js"></script>`
  return response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html)
})
server.listen(Number(port), '127.0.0.1', () => {
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}/`
  console.log(`${url}ai-sdk?run=ID and ${url}ag-ui?run=ID, with an id of ${url}runs`)
})
