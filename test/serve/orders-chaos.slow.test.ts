import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { resume } from '../../src/run/resume.ts'
import type { RunInfo } from '../../src/serve/run-info.ts'
import { built } from '../built.ts'
import { hasNats, natsServer } from '../nats/nats-server.ts'
import { workspace } from '../run/agent.ts'

/** An agent that always has eight requests open, and notes each answer that it gets. */
const AGENT = `
  import { appendFileSync, writeSync } from 'node:fs'
  import { createInterface } from 'node:readline'
  const say = (record) => writeSync(1, JSON.stringify({ jsonrpc: '2.0', ...record }) + '\\n')
  let asked = 0
  const options = [
    { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
    { optionId: 'no', name: 'No', kind: 'reject_once' },
  ]
  const ask = () => {
    const toolCall = { toolCallId: 'c' + asked, title: 'do ' + asked, kind: 'execute', status: 'pending' }
    say({ id: asked++, method: 'session/request_permission', params: { sessionId: 's', toolCall, options } })
  }
  createInterface({ input: process.stdin }).on('close', () => process.exit()).on('line', (line) => {
    const { id, method, result } = JSON.parse(line)
    if (method === 'initialize') say({ id, result: { protocolVersion: 1, agentCapabilities: {} } })
    else if (method === 'session/new') say({ id, result: { sessionId: 's' } })
    else if (method === 'session/prompt') for (let n = 0; n < 8; n++) ask()
    else if (result) {
      const { AGENT_SLUICE_RUN } = process.env
      appendFileSync('answers', AGENT_SLUICE_RUN + ' 1:' + id + ' ' + result.outcome.optionId + '\\n')
      ask()
    }
  })`

interface Sent {
  readonly run: string
  readonly request: string
  readonly option: string
  accepted: boolean
  /** The server has said that it was not delivered. */
  lost: boolean
}

const ORDERS = 1000
/** A machine that is busy gives fewer orders in this time. The whole count: SLUICE_CHAOS_MS=600000. */
const MAX_MS = Number(process.env['SLUICE_CHAOS_MS'] ?? 30_000)

const places = hasNats ? (['this machine', 'another host'] as const) : (['this machine'] as const)

test.each(places)(
  `acts on each of ${ORDERS} orders to %s at most once while everything is killed`,
  {
    timeout: MAX_MS + 120_000,
  },
  async (place) => {
    const broker = place === 'another host' ? await natsServer() : undefined
    const { cwd } = workspace()
    const state = workspace().cwd
    const audit = join(cwd, '.audit')
    mkdirSync(audit)
    writeFileSync(join(cwd, 'agent.mjs'), AGENT)
    const env = { ...process.env, XDG_STATE_HOME: state }
    const start = (...words: string[]): ChildProcess =>
      spawn(process.execPath, [built('src/cli/main.ts'), ...words], {
        cwd,
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
    const startRun = () =>
      start(
        ...['run', '--talk', '--control', '--engine', 'acp', '--prompt', 'Go.', '--no-fs-diff', '--quiet'],
        ...['--', process.execPath, 'agent.mjs'],
      )
    let url = ''
    const from = broker ? ['--from', broker.url, '--dir', join(cwd, 'mirror')] : [audit]
    const startServer = async () => {
      const child = start('serve', ...from, '--port', '0', '--control')
      let said = ''
      for await (const part of child.stderr!) {
        said += part
        url = /http:\S+/.exec(said)?.[0] ?? url
        if (/http:\S+/.test(said)) break
      }
      return child
    }
    const startShip = () => broker && start('ship', audit, '--to', broker.url, '--follow', '--control')
    let shipper = startShip()
    let recorder = startRun()
    let server = await startServer()
    const sent = new Map<string, Sent>()
    const deadline = Date.now() + MAX_MS
    let refused = 0
    const isOver = () => sent.size + refused >= ORDERS || Date.now() > deadline
    let killing = true
    const kills = { runs: 0, servers: 0, shippers: 0, brokers: 0 }
    const killer = (async () => {
      while (!isOver()) {
        await delay(1500 + Math.random() * 2500)
        const which = Math.random() * (broker ? 4 : 2)
        if (which < 1) {
          recorder.kill('SIGKILL')
          await once(recorder, 'exit')
          recorder = startRun()
          kills.runs++
        } else if (broker && which > 3) {
          await broker.kill()
          await broker.start()
          kills.brokers++
        } else if (shipper && which > 2) {
          shipper.kill('SIGKILL')
          await once(shipper, 'exit')
          shipper = startShip()
          kills.shippers++
        } else {
          server.kill('SIGKILL')
          await once(server, 'exit')
          server = await startServer()
          kills.servers++
        }
      }
      killing = false
    })()
    /** A client with an address of its own for each request, so that no limit holds it back. */
    let client = 1
    const ask = (path: string, body?: object): Promise<{ status: number; text: string }> =>
      new Promise((resolve, reject) => {
        client = (client % 250) + 1
        const headers = { origin: new URL(url).origin, 'content-type': 'application/json' }
        const options = {
          method: body ? 'POST' : 'GET',
          headers,
          agent: false,
          timeout: broker ? 15_000 : 5000,
        }
        const asked = httpRequest(
          new URL(path, url),
          { ...options, localAddress: `127.0.1.${client}` },
          (response) => {
            let text = ''
            response.on('data', (part) => {
              text += part
            })
            response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
            response.on('error', reject)
          },
        )
        asked.on('timeout', () => asked.destroy(new Error('it hangs'))).on('error', reject)
        asked.end(body && JSON.stringify(body))
      })
    const current = async (): Promise<string | undefined> => {
      const { text } = await ask('runs')
      return (JSON.parse(text) as RunInfo[]).find(({ control }) => control)?.run_id ?? undefined
    }
    // Four clients for each third of the requests: all answer, and only one of them is heard.
    const work = async (third: number) => {
      let run: string | undefined
      let nth = third
      while (!isOver()) {
        const id = randomUUID()
        try {
          if (run === undefined) {
            run = await current()
            nth = third
          }
          if (run === undefined) {
            await delay(100)
            continue
          }
          const order = { request: `1:${nth}`, option: Math.random() < 0.5 ? 'yes' : 'no' }
          const given = { run, ...order, accepted: false, lost: false }
          sent.set(id, given)
          const { status, text } = await ask(`runs/${run}/control`, { id, do: 'answer', ...order })
          given.accepted = status === 202
          given.lost = /not delivered/.test(text)
          if (status !== 202 && status !== 503) sent.delete(id)
          if (status === 409) refused++
          if (status === 202 || /settled/.test(text)) nth += 3
          else if (status === 404 && /no request/.test(text)) await delay(20)
          else run = undefined
        } catch (error) {
          // The server was killed: nobody knows whether the order was given.
          if (/hangs/.test(String(error))) throw error
          run = undefined
          await delay(50)
        }
      }
    }
    await Promise.all([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2].map(work))
    await killer
    expect(killing).toBe(false)
    const ended = once(recorder, 'exit')
    // What was killed last may still be starting, or still be listed as the run that goes on: then the order
    // is not delivered, or refused.
    const stopped = async (): Promise<string> => {
      for (;;) {
        const run = await current()
        const stop = run === undefined ? undefined : await ask(`runs/${run}/control`, { do: 'stop' })
        if (run !== undefined && stop?.status === 202) return run
        if (stop) expect([409, 503]).toContain(stop.status)
        await delay(100)
      }
    }
    const last = await stopped()
    await ended
    for (const child of [server, ...(shipper ? [shipper] : [])]) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    await broker?.close()

    const told = new Map<string, string>()
    const dirs = readdirSync(audit).filter((name) => /^\d{4}-/.test(name))
    for (const name of dirs) {
      const dir = join(audit, name)
      await resume(dir)
      for (const line of readFileSync(join(dir, 'events.jsonl'), 'utf8').trim().split('\n')) {
        const { data } = JSON.parse(line)
        if (data.status !== 'control') continue
        expect(told.has(data.id)).toBe(false)
        told.set(data.id, data.result)
      }
    }
    const answers = readFileSync(join(cwd, 'answers'), 'utf8').trim().split('\n')
    // No request was answered twice, and none without an order that says so.
    expect(new Set(answers.map((line) => line.split(' ').slice(0, 2).join(' '))).size).toBe(answers.length)
    const meant = new Set<string>()
    for (const [id, { run, request, option }] of sent) {
      const result = told.get(id)
      if (result === 'done' || result === 'unknown') meant.add(`${run} ${request} ${option}`)
      // Also an order that was not heard by a client whose server was killed.
      if (result === 'done')
        expect(
          [...sent].filter(
            ([other, one]) =>
              other !== id && told.get(other) === 'done' && one.run === run && one.request === request,
          ),
        ).toEqual([])
    }
    expect(answers.filter((line) => !meant.has(line))).toEqual([])
    // A run that ended in order has told about every order that was taken for it.
    const ofLast = [...sent].filter(([, { run, accepted }]) => run === last && accepted)
    expect(ofLast.filter(([id]) => !told.has(id))).toEqual([])
    expect([...sent].filter(([id, { lost }]) => lost && told.has(id))).toEqual([])
    const count = (result: string | undefined) =>
      [...sent.keys()].filter((id) => told.get(id) === result).length
    const counts = {
      done: count('done'),
      refused: count('refused'),
      unknown: count('unknown'),
      lost: count(undefined),
    }
    console.log(
      JSON.stringify({
        place,
        orders: sent.size + refused,
        at_once: refused,
        ...counts,
        not_delivered: [...sent.values()].filter(({ lost }) => lost).length,
        answers: answers.length,
        ...kills,
      }),
    )
    // All of them, unless the machine is too busy for that.
    expect(sent.size + refused).toBeGreaterThan(ORDERS / 20)
    expect(counts.done).toBeGreaterThan(ORDERS / 50)
  },
)
