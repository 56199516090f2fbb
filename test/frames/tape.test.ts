import { expect, test, vi } from 'vitest'
import { Tape } from '../../src/frames/tape.ts'

test('a frame that grows in small chunks moves to a new buffer a few times, not with each chunk', () => {
  const allocations = vi.spyOn(Buffer, 'allocUnsafeSlow')
  const tape = new Tape(1 << 24)
  const chunk = Buffer.alloc(64, 'x')
  for (let count = 0; count < 8000; count++) {
    tape.append(chunk)
    tape.settle(0)
  }
  expect(tape.view.length).toBe(8000 * 64)
  expect(allocations.mock.calls.length).toBeLessThan(20)
  allocations.mockRestore()
})
