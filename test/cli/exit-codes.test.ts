import { expect, test } from 'vitest'
import { Fault } from '../../src/base/fault.ts'
import { faultExit, isFull } from '../../src/cli/exit-codes.ts'

const errno = (code: string) => Object.assign(new Error(code), { code })

test('what could not be written is 7, bad usage is 2', () => {
  expect(faultExit(new Fault('BAD_OPTION'))).toBe(2)
  expect(faultExit(new Fault('JOURNAL_MISMATCH'))).toBe(2)
  for (const code of ['OUTPUT_FAILED', 'JOURNAL_FAILED', 'RECORD_FAILED', 'AUDIT_FAILED'] as const) {
    expect(faultExit(new Fault(code))).toBe(7)
  }
})

test('a full disk is found however deep the cause is', () => {
  const deep = new Fault('OUTBOX_FAILED', 'no', { cause: new Error('why', { cause: errno('ENOSPC') }) })
  expect([isFull(deep), faultExit(deep)]).toEqual([true, 7])
  expect(isFull(new Fault('OUTBOX_FAILED', 'no', { cause: errno('EACCES') }))).toBe(false)
  const circle = new Error('round')
  circle.cause = circle
  expect(isFull(new Fault('OUTBOX_FAILED', 'no', { cause: circle }))).toBe(false)
})

test('a file above a limit of ours was taken for a full disk', () => {
  const ours = errno('EFBIG')
  expect(isFull(new Fault('LEDGER_FAILED', 'no', { cause: ours }))).toBe(false)
  const kernel = Object.assign(errno('EFBIG'), { syscall: 'write' })
  expect(isFull(new Fault('OUTBOX_FAILED', 'no', { cause: kernel }))).toBe(true)
})
