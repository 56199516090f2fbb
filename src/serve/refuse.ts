import type { ServerResponse } from 'node:http'

/** Sends a plain-text error response. */
export function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${why}\n`)
}
