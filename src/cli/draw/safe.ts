// Everything that moves the cursor, rings, hides or reorders: C0 except tab and LF, DEL, C1, line separators,
// bidirectional controls, lone surrogates.
const unsafe =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Cs}/gu

/** Makes text of an agent safe for a terminal: CRLF is a line end, other control characters are escaped. */
export function safe(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll('\t', '    ')
    .replace(unsafe, (c) => (c < ' ' ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : '\ufffd'))
}

/** The same on one line, for a row of a table: a name with a line end cannot forge a row. */
export function safeLine(text: string): string {
  return safe(text).replaceAll('\n', '\u240a')
}
