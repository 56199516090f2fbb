import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { badOption } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { accessBy, checkBindAddress, isOwnHost } from './access.ts'
import type { OrderDoor } from './control.ts'
import { answering, refuse } from './http-response.ts'
import { pageFiles } from './page.ts'
import { RunRoutes, realDir, sendJson } from './routes.ts'
import { controlOf, type RunServer, type ServeSettings } from './serve-options.ts'

/** What the login page needs, and what reveals nothing about the runs. */
const openPaths: ReadonlySet<string> = new Set(['/page.css', '/icon.svg', '/healthz'])

/** The server of `serve`, whose options are checked already. */
export async function startServer(options: ServeSettings, door?: OrderDoor): Promise<RunServer> {
  const { port, host, token, insecure } = options
  const access = accessBy(token)
  const control = controlOf(options.control)
  // Everybody may read, but not give orders.
  checkBindAddress(host, token, insecure && !control)
  const routes = new RunRoutes(realDir(options.dir), { ...options, control, door })

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!isOwnHost(request.headersDistinct['host'], host))
      return refuse(response, 403, 'this server does not have that name')
    // Accept a plain path only: `//host/x` and `http://host/x` name another server.
    const target = request.url!
    if (!target.startsWith('/') || target.startsWith('//'))
      return refuse(
        response,
        404,
        'the path must begin with one slash; the url of serve() ends with one already',
      )
    const { pathname, searchParams } = new URL(`http://sluice${target}`)
    const post = request.method === 'POST'
    const order = post && routes.control?.isOurs(pathname) ? routes.control : undefined
    const login = post && !order ? access : undefined
    if (request.method !== 'GET' && !login && !order) {
      response.setHeader('allow', 'GET')
      return refuse(response, 405, 'only GET is allowed')
    }
    // The page that asks for the token is shown at every address, and sent back to it.
    if (login) return await login.login(request, response, pathname === '/login' ? '/' : pathname)
    if (access && !openPaths.has(pathname) && !(await access.admits(request, response))) return
    if (order) {
      const how = request.headers.authorization === undefined ? 'cookie' : 'token'
      return await order.answer(request, request, response, pathname, access && how)
    }
    const file = pageFiles.get(pathname)
    if (file) return void response.writeHead(200, { 'content-type': file.type }).end(file.text)
    if (pathname === '/healthz') {
      // A client without a token learns that the server runs, but no count.
      if (access && request.headers.authorization === undefined) return sendJson(response, '{"ok":true}\n')
      if (access && !(await access.admits(request, response))) return
      return sendJson(response, `${JSON.stringify({ ok: true, clients: routes.clients })}\n`)
    }
    return await routes.answer(request, response, pathname, searchParams)
  }

  const server = createServer(
    { keepAliveTimeout: 5000 },
    (request, response) => void answering(response, () => answer(request, response)),
  )
  await listen(server, port, host)
  // Cast: a server that listens on a port has an AddressInfo.
  const { port: given } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${given}/`,
    port: given,
    clients: () => routes.clients,
    async close() {
      routes.leave()
      const closed = new Promise((done) => server.close(done))
      server.closeAllConnections()
      await closed
      routes.close()
    },
  }
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((done, fail) => {
    server.once('error', (error) => {
      const code = codeOf(error)
      const why =
        code === 'EADDRINUSE' ? `port ${port} is taken; choose another one` : `${host}:${port}: ${code}`
      fail(badOption(`cannot listen: ${why}`, { cause: error }))
    })
    server.listen(port, host, done)
  })
}
