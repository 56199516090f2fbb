import { drive } from '../../src/base/stage.ts'
import { auto } from '../../src/engines/auto.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { asLines, chatOf, type Fixture, fixtures } from './fixture.ts'

/** Every fixture that has something on stdout, with that log alone. */
export function stdoutLogs(): Fixture[] {
  return fixtures().flatMap((fixture) => {
    const stdout = fixture.logs.find(({ channel }) => channel === 'stdout')
    return stdout && stdout.bytes.length > 0 ? [{ ...fixture, logs: [stdout] }] : []
  })
}

/**
 * The conversation of such a log as the stages of Node give it: what other runtimes must give, byte for byte.
 */
export function readInNode({ logs }: Fixture): string {
  return asLines(chatOf(drive(eventStage(auto, { clock: () => 0 }), [{ ...logs[0]!, channels: ['stdout'] }])))
}
