import fc from 'fast-check'

/**
 * Any code point, half a surrogate pair included, for `fc.string({ unit: codePoint })`. The unit `binary` of
 * fast-check makes a map of all of them first, which takes a second.
 */
export const codePoint = fc.nat(0x10_ff_ff).map((code) => String.fromCodePoint(code))
