import { crc32, deflateSync, inflateSync } from 'node:zlib'

/** Colours of a small picture: enough for text and a few plain areas. */
const COLOURS = 96

/**
 * Makes a screenshot small: a palette instead of true colours, a quarter of the size. Takes the format that
 * Chromium writes (8 bit, no interlace).
 */
export function smallPng(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png)
  const { palette, nearest } = paletteOf(pixels)
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + x + 1] = nearest(pixels[y * width + x]!)
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  return Buffer.concat([
    png.subarray(0, 8),
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function decode(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const data: Buffer[] = []
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12)
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  const size = png[25] === 6 ? 4 : 3
  const raw = inflateSync(Buffer.concat(data))
  const stride = width * size
  const pixels = new Uint32Array(width * height)
  let above = Buffer.alloc(stride)
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)]!
    const row = raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1))
    for (let i = 0; i < stride; i++) {
      const left = i >= size ? row[i - size]! : 0
      const corner = i >= size ? above[i - size]! : 0
      row[i]! += [0, left, above[i]!, (left + above[i]!) >> 1, paeth(left, above[i]!, corner)][filter]!
    }
    for (let x = 0; x < width; x++)
      pixels[y * width + x] = (row[x * size]! << 16) | (row[x * size + 1]! << 8) | row[x * size + 2]!
    above = row
  }
  return { width, height, pixels }
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - above), Math.abs(guess - corner)]
  if (a <= b && a <= c) return left
  return b <= c ? above : corner
}

/** The most frequent colours, and for every other colour the nearest of them. */
function paletteOf(pixels: Uint32Array) {
  const counts = new Map<number, number>()
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const palette: number[] = []
  for (const [colour] of [...counts].sort((a, b) => b[1] - a[1])) {
    if (palette.length === COLOURS) break
    // At most one of similar colours, so that the ends of a scale are included, too.
    if (palette.length < 16 || palette.every((known) => distance(known, colour) > 200)) palette.push(colour)
  }
  const known = new Map<number, number>()
  const nearest = (colour: number) => {
    let found = known.get(colour)
    if (found === undefined) {
      found = 0
      for (let i = 1; i < palette.length; i++)
        if (distance(palette[i]!, colour) < distance(palette[found]!, colour)) found = i
      known.set(colour, found)
    }
    return found
  }
  return { palette, nearest }
}

function distance(a: number, b: number): number {
  const [red, green, blue] = [
    (a >> 16) - (b >> 16),
    ((a >> 8) & 255) - ((b >> 8) & 255),
    (a & 255) - (b & 255),
  ]
  return red * red + green * green + blue * blue
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}
