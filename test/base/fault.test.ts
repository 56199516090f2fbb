import { describe, expect, test } from 'vitest'
import { clip, codes, Fault, quote } from '../../src/base/fault.ts'

describe('Fault', () => {
  test('is an Error with a stable code, and the text of the table by default', () => {
    const fault = new Fault('TRUNCATED')
    expect(fault).toBeInstanceOf(Error)
    expect(fault.name).toBe('Fault')
    expect(fault.code).toBe('TRUNCATED')
    expect(fault.message).toBe(codes.TRUNCATED)
    expect(String(fault)).toBe(`Fault: ${codes.TRUNCATED}`)
  })

  test('keeps the cause and the details it is given, and shows no others', () => {
    const cause = new TypeError('inner')
    const errors = [{ path: '/a', rule: 'required', message: 'is missing' }]
    const fault = new Fault('SCHEMA_FAILED', 'no', { cause, errors, value: undefined, at: 0 })
    expect(fault.cause).toBe(cause)
    expect(fault.errors).toBe(errors)
    expect(Object.hasOwn(fault, 'value')).toBe(true)
    expect(fault.at).toBe(0)

    const bare = new Fault('EMPTY')
    expect('cause' in bare).toBe(false)
    expect(bare.errors).toBe(undefined)
    expect(bare.at).toBe(undefined)
  })

  test('bounds its message', () => {
    const fault = new Fault('INVALID_JSON', 'x'.repeat(1e6))
    expect(fault.message.length).toBe(500)
    expect(fault.message.endsWith('…')).toBe(true)
  })

  test('is known across two copies of the class', () => {
    const stranger = Object.defineProperty(new Error('other copy'), Symbol.for('agent-sluice.Fault'), {
      value: true,
    })
    expect(Fault.is(stranger)).toBe(true)
    expect(Fault.is(new Fault('EMPTY'))).toBe(true)
  })

  test('does not take anything else for one', () => {
    for (const other of [null, undefined, 'EMPTY', new Error('EMPTY'), { code: 'EMPTY' }])
      expect(Fault.is(other)).toBe(false)
  })

  test('has its message and its own fields in JSON, and no others', () => {
    const cause = new Error('inner')
    const fault = new Fault('EMPTY', 'no text', { cause, at: 3, label: 'judge' })
    expect(JSON.stringify(fault)).toBe(
      '{"name":"Fault","code":"EMPTY","message":"no text","at":3,"label":"judge"}',
    )
  })
})

describe('codes', () => {
  test('have names in capitals and a short sentence each', () => {
    for (const [code, text] of Object.entries(codes)) {
      expect(code).toMatch(/^[A-Z][A-Z0-9_]+$/)
      expect(text, code).toMatch(/^[a-z].{5,90}[^.]$/i)
    }
  })

  test('no two say the same', () => {
    expect(new Set(Object.values(codes)).size).toBe(Object.keys(codes).length)
  })
})

describe('quote', () => {
  test('shows control characters instead of obeying them', () => {
    expect(quote('a\u001b[2J\u009b\r\n\0b')).toBe('"a\\u001b[2J\\u009b\\u000d\\u000a\\u0000b"')
  })

  test('shows direction marks, line separators and lone surrogates', () => {
    expect(quote('\u202e\u2066\u2028\ud800x')).toBe('"\\u202e\\u2066\\u2028\\ud800x"')
    expect(quote('😀é')).toBe('"😀é"')
  })

  test('is bounded', () => {
    expect(quote('x'.repeat(1e6)).length).toBe(42)
    expect(quote('\0'.repeat(1e6)).length).toBeLessThan(300)
  })
})

describe('clip', () => {
  test('leaves short text alone, and marks a cut', () => {
    expect(clip('abc', 3)).toBe('abc')
    expect(clip('abcd', 3)).toBe('ab…')
  })

  test('never leaves half a surrogate pair', () => {
    expect(clip('a😀😀', 3)).toBe('a…')
    expect(clip('a😀😀', 4)).toBe('a😀…')
  })
})
