import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer, json } from 'node:stream/consumers'

/** What `npm publish` sends. */
interface Published {
  readonly name: string
  readonly versions: Readonly<Record<string, { dist: { tarball: string } }>>
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>
}

/**
 * A registry on loopback: it keeps what is published to it in memory, and passes on every other question to
 * the registry that npm uses here.
 */
export async function loopbackRegistry(
  upstream: string,
): Promise<{ readonly url: string; readonly published: ReadonlyMap<string, Published>; close(): void }> {
  const published = new Map<string, Published>()
  const tarballs = new Map<string, Buffer>()
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/'
    const own = published.get(decodeURIComponent(path.slice(1)))
    try {
      if (request.method === 'PUT') {
        const given = (await json(request)) as Published
        for (const [name, { data }] of Object.entries(given._attachments))
          tarballs.set(`/tarballs/${name}`, Buffer.from(data, 'base64'))
        for (const { dist } of Object.values(given.versions))
          dist.tarball = `${url}/tarballs/${Object.keys(given._attachments)[0]}`
        published.set(given.name, given)
        response.writeHead(201).end('{}')
      } else if (tarballs.has(path)) response.end(tarballs.get(path))
      else if (own) response.setHeader('content-type', 'application/json').end(JSON.stringify(own))
      else {
        const { accept = '*/*' } = request.headers
        const passed = await fetch(new URL(path.slice(1), upstream), { headers: { accept } })
        const type = passed.headers.get('content-type') ?? 'application/json'
        response.writeHead(passed.status, { 'content-type': type })
        response.end(Buffer.from(await passed.arrayBuffer()))
      }
    } catch (error) {
      await buffer(request).catch(() => undefined)
      response.writeHead(502).end(JSON.stringify({ error: String(error) }))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, published, close: () => void server.close().closeAllConnections() }
}
