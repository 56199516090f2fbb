import spec from 'commonmark-spec'
import { expect, test } from 'vitest'
import { byteByByte, scan, shape } from './splits.ts'

/** Where we cut otherwise than CommonMark, and why: a stream of words is not a document of blocks. */
const otherwise: Readonly<Record<number, readonly [why: string, found: readonly string[]]>> = {
  24: ['backslashes in an info string stay as they were written', ['foo\\+bar: foo']],
  34: ['entities in an info string stay as they were written', ['f&ouml;&ouml;: foo']],
  134: ['four spaces are an indented block, which is no fence and so no frame', []],
  161: ['HTML hides no fence: models write tags of their own around their answers', ['c: int x = 33;']],
  263: ['four spaces never open a fence, in a list neither: nothing is known of the lines before', []],
  278: ['the indented block behind the fence is none', [': bar']],
}

/** The code blocks that the expected HTML shows: their language and text. */
function blocksOf(html: string): string[] {
  const blocks = [...html.matchAll(/<pre><code(?: class="language-([^"]*)")?>([\s\S]*?)<\/code><\/pre>/g)]
  return blocks.map(([, language = '', body = '']) => `${language}: ${plain(body).replace(/\n$/, '')}`)
}

const plain = (html: string) =>
  html.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')

const examples = spec.tests.filter(
  ({ markdown, section }) => section === 'Fenced code blocks' || /```|~~~/.test(markdown),
)

test('every example of the section is here, and more', () => {
  expect(examples.filter(({ section }) => section === 'Fenced code blocks')).toHaveLength(29)
  expect(examples.length).toBeGreaterThanOrEqual(35)
})

test.for(
  // The specification writes a tab as an arrow.
  examples.map(({ markdown, html, ...rest }) => ({
    ...rest,
    markdown: markdown.replaceAll('→', '\t'),
    html: html.replaceAll('→', '\t'),
  })),
)('example $number of CommonMark ($section)', ({ number, markdown, html }) => {
  const bytes = Buffer.from(markdown)
  const options = { lines: false, objects: false, tags: [] }
  const frames = scan([bytes], options)
  expect(scan(byteByByte(bytes), options).map(shape)).toEqual(frames.map(shape))
  const found = frames
    .filter((frame) => frame.kind === 'fence')
    // CommonMark takes the first word of the info string for the language.
    .map(({ label = '', text }) => `${label.split(' ')[0]}: ${text}`)
  const [why, expected] = otherwise[number] ?? []
  expect(found, why).toEqual(expected ?? blocksOf(html))
  if (expected) expect(found, 'this difference is none').not.toEqual(blocksOf(html))
})
