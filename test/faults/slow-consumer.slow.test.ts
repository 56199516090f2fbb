import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { built } from '../built.ts'

async function slowly(name: string, bytes: number) {
  const args = ['--expose-gc', built('test/faults/big.ts'), name, String(bytes)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

describe('consumer 1000 times slower: the producer is paused, memory stays flat within 32 MB', () => {
  test('large frames, 128 MB', async () => {
    const result = await slowly('slow', 1 << 27)
    expect(result.kinds).toEqual({ line: 512 })
    expect(result.grown_mb).toBeLessThan(32)
    expect(result.behind).toBeLessThan(2 << 20)
  })
  test('small events, 4 ms for each', async () => {
    const result = await slowly('slow-events', 1 << 20)
    expect(result.kinds['agent.message.final']).toBeGreaterThan(1000)
    expect(result.grown_mb).toBeLessThan(32)
    expect(result.behind).toBeLessThan(1 << 19)
  })
})
