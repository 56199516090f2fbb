import type { ServerResponse } from 'node:http'

/** Answers that it is not answered, and why. */
export function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${why}\n`)
}
