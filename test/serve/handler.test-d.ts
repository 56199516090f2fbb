import type { IncomingMessage } from 'node:http'
import { expectTypeOf, test } from 'vitest'
import type { HandlerOptions } from '../../src/serve/handler.ts'

/** What a framework makes of a request. */
interface AppRequest extends IncomingMessage {
  readonly user: string
}

test('allow takes a function that knows the requests of its framework', () => {
  const ofApp = (request: AppRequest) => request.user === 'me'
  const ofNode = (request: IncomingMessage, id: string | undefined) => request.headers['x-user'] === id
  const ofFetch = async (request: Request) => request.headers.has('authorization')
  const options = [
    { dir: '.audit', allow: ofApp },
    { dir: '.audit', allow: ofNode },
    { dir: '.audit', allow: ofFetch },
  ] satisfies HandlerOptions[]
  expectTypeOf(options).toExtend<HandlerOptions[]>()
})
