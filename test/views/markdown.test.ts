import { readFileSync } from 'node:fs'
import spec from 'commonmark-spec'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type MarkdownBlock, markdownBlocks } from '../../src/views/markdown/blocks.ts'
import { type MarkdownInline, markdownInlines, markdownText } from '../../src/views/markdown/inlines.ts'
import { expectLinear } from '../growth.ts'

/** Blocks in a short form that is easy to read in a test. */
function short(blocks: readonly MarkdownBlock[]): unknown[] {
  return blocks.map(shortOne)
}

function shortOne(block: MarkdownBlock): unknown {
  switch (block.type) {
    case 'heading':
      return `h${block.level} ${marked(block.children)}`
    case 'paragraph':
      return marked(block.children)
    case 'code':
      return { [['code', block.language, block.open ? 'open' : ''].filter(Boolean).join(' ')]: block.text }
    case 'list': {
      const items = block.items.map(({ checked, blocks }) =>
        checked === undefined ? short(blocks) : [checked, ...short(blocks)],
      )
      return { [block.start === undefined ? 'ul' : `ol ${block.start}`]: items }
    }
    case 'quote':
      return { quote: short(block.blocks) }
    case 'table':
      return { table: [block.head.map(marked), ...block.rows.map((row) => row.map(marked))] }
    case 'rule':
      return '---'
  }
}

function marked(inlines: readonly MarkdownInline[]): string {
  const inside = (children: readonly MarkdownInline[]) => marked(children)
  return inlines
    .map((inline) => {
      switch (inline.type) {
        case 'text':
          return inline.text
        case 'code':
          return `<code>${inline.text}</code>`
        case 'break':
          return '<br>'
        case 'link':
          return `<a ${inline.web ? 'href' : 'file'}=${inline.target}>${inside(inline.children)}</a>`
        case 'image':
          return `<img ${inline.target} ${inline.alt}>`
        default: {
          const tag = { emphasis: 'em', strong: 'b', strike: 's' }[inline.type]
          return `<${tag}>${inside(inline.children)}</${tag}>`
        }
      }
    })
    .join('')
}

const read = (text: string) => short(markdownBlocks(text))

describe('the blocks of a message', () => {
  test.each<[string, string, unknown[]]>([
    ['a heading and a paragraph', '# Done\n\nAll tests pass.', ['h1 Done', 'All tests pass.']],
    ['headings with a closing mark or a line below', '## a ##\nb\n===\nc\n---', ['h2 a', 'h1 b', 'h2 c']],
    ['a rule below a paragraph of two lines', 'a\nb\n---\nc', ['a<br>b', '---', 'c']],
    ['a number sign without a blank is text', '#1 is done', ['#1 is done']],
    ['code with its language', '```ts\nlet a = 1\n\n```\nafter', [{ 'code ts': 'let a = 1\n' }, 'after']],
    ['code that is still being written', 'so:\n~~~\na\n```\n', ['so:', { 'code open': 'a\n```\n' }]],
    ['indented code', 'a\n\n    b\n\n      c\n\nd', ['a', { code: 'b\n\n  c' }, 'd']],
    ['a list right below a sentence', 'Files:\n- a\n- b\n\nend', ['Files:', { ul: [['a'], ['b']] }, 'end']],
    ['a numbered list', '3. a\n4. b', [{ 'ol 3': [['a'], ['b']] }]],
    ['a year at the start of a line', 'It was in\n2024. Or later.', ['It was in<br>2024. Or later.']],
    [
      'a list in a list, indented by two',
      '1. a\n  - b\n  - c\n2. d',
      [{ 'ol 1': [['a', { ul: [['b'], ['c']] }], ['d']] }],
    ],
    [
      'an item of many blocks',
      '- a\n\n  b\n  ```sh\n  ls\n  ```',
      [{ ul: [['a', 'b', { 'code sh': 'ls' }]] }],
    ],
    ['an item that goes on without an indent', '- a\nb', [{ ul: [['a<br>b']] }]],
    [
      'tasks',
      '- [x] a\n- [ ] b',
      [
        {
          ul: [
            [true, 'a'],
            [false, 'b'],
          ],
        },
      ],
    ],
    ['another marker is another list', '- a\n+ b', [{ ul: [['a']] }, { ul: [['b']] }]],
    ['a quote', '> # a\n> b\n\nc', [{ quote: ['h1 a', 'b'] }, 'c']],
    [
      'a table below a sentence',
      'So:\n| a | b |\n|---|:-:|\n| 1 \\| 2 | `x` |\n| 3 |\n',
      [
        'So:',
        {
          table: [
            ['a', 'b'],
            ['1 | 2', '<code>x</code>'],
            ['3', ''],
          ],
        },
      ],
    ],
    ['a pipe is no table', 'a | b\nc | d', ['a | b<br>c | d']],
    ['CRLF', '# a\r\n- b\r\n', ['h1 a', { ul: [['b']] }]],
    ['a quote whose sentence goes on without the mark', '> a\nb\nc\n\nd', [{ quote: ['a<br>b<br>c'] }, 'd']],
    ['a quote in a quote that goes on', '> > a\nb', [{ quote: [{ quote: ['a<br>b'] }] }]],
    ['a list in a quote that goes on', '> - a\nb', [{ quote: [{ ul: [['a<br>b']] }] }]],
    ['a heading in a quote does not go on', '> # a\nb', [{ quote: ['h1 a'] }, 'b']],
    ['nor does code', '> ```\n> a\nb', [{ quote: [{ 'code open': 'a' }] }, 'b']],
    ['nor code that has ended', '> ```\n> a\n> ```\nb', [{ quote: [{ code: 'a' }] }, 'b']],
    ['nor a table', '> |a|\n> |-|\nb', [{ quote: [{ table: [['a']] }] }, 'b']],
    ['a rule ends a quote', '> a\n---\nb', [{ quote: ['a'] }, '---', 'b']],
    ['and so does a list', '> a\n- b', [{ quote: ['a'] }, { ul: [['b']] }]],
    [
      'links whose targets are defined elsewhere, and a heading with one',
      '# [A  b][]\n\nsee [this][x], ![i][X] and [x].\n\n[x]: <https://y.z> "t"\n[a B]: src/f.ts\n[x]: second',
      [
        'h1 <a file=src/f.ts>A  b</a>',
        'see <a href=https://y.z>this</a>, <img https://y.z i> and <a href=https://y.z>x</a>.',
        '<a href=https://y.z>x</a>: second',
      ],
    ],
    [
      'a definition that no link names',
      'Sources:\n\n[1]: https://a.b',
      ['Sources:', '[1]: <a href=https://a.b>https://a.b</a>'],
    ],
    ['a link whose target is not defined', '[a][b] [c]\n\n[a]: d e', ['[a][b] [c]', '[a]: d e']],
    ['HTML is text', '<b onclick="x">a</b>', ['<b onclick="x">a</b>']],
  ])('%s', (_name, text, expected) => expect(read(text)).toEqual(expected))

  test('gives tables their alignment', () => {
    expect(markdownBlocks('|a|b|c|d|\n|:-|-:|:-:|-|')).toMatchObject([
      { type: 'table', align: ['left', 'right', 'center', undefined], rows: [] },
    ])
  })
})

describe('running text', () => {
  test.each([
    ['**bold** and *soft* and ~~gone~~', '<b>bold</b> and <em>soft</em> and <s>gone</s>'],
    ['***both*** and **a *b* c**', '<em><b>both</b></em> and <b>a <em>b</em> c</b>'],
    ['snake_case_name and _soft_', 'snake_case_name and <em>soft</em>'],
    ['2 * 3 * 4 and **open', '2 * 3 * 4 and **open'],
    ['`a*b*` ``x ` y`` `open', '<code>a*b*</code> <code>x ` y</code> `open'],
    ['\\*no\\* C:\\dir', '*no* C:\\dir'],
    ['[a](https://b.c/d) [e](src/f.ts:3)', '<a href=https://b.c/d>a</a> <a file=src/f.ts:3>e</a>'],
    ['[x](javascript:alert`1`)', '<a file=javascript:alert`1`>x</a>'],
    ['[w](https://e.org/a_(b)) ok', '<a href=https://e.org/a_(b)>w</a> ok'],
    ['[t](u "v") ![i](data:x)', '<a file=u>t</a> <img data:x i>'],
    ['[not a link] (x) [nor] this', '[not a link] (x) [nor] this'],
    [
      'see https://a.b/c. <https://d.e>',
      'see <a href=https://a.b/c>https://a.b/c</a>. <a href=https://d.e>https://d.e</a>',
    ],
    ['(https://a.b/c)', '(<a href=https://a.b/c>https://a.b/c</a>)'],
    ['a  \nb\\\nc\nd', 'a<br>b<br>c<br>d'],
    ['a &amp; b &#35; &#x41; &copy; &#42;no&#42;', 'a & b # A © *no*'],
    ['`&amp;` &nope; &#; &#x; &amp a & b', '<code>&amp;</code> &nope; &#; &#x; &amp a & b'],
    ['[a](https://b.c/?d&amp;e)', '<a href=https://b.c/?d&e>a</a>'],
    ['[x](javascript&#58;y)', '<a file=javascript:y>x</a>'],
    ['&#27;[31m &#x202e; &#0; &#10; &#xd800; &#9999999;', `\ufffd[31m${' \ufffd'.repeat(5)}`],
  ])('%j', (text, expected) => expect(marked(markdownInlines(text))).toBe(expected))

  test('without its marks', () => {
    expect(markdownText(markdownInlines('**a** `b` [c](d)\n![e](f)'))).toBe('a b c\ne')
  })
})

/** Letters and digits of what would be shown; an address or a language may be left out. */
function shown(blocks: readonly MarkdownBlock[]): string {
  return JSON.stringify(short(blocks))
}

/** HTML without the spacing that a chat draws otherwise: breaks, blanks, and paragraphs in items. */
function unspaced(html: string): string {
  return html.replace(/<br \/>|<\/?p>|\s+/g, '')
}

function blockHtml(block: MarkdownBlock): string {
  const inside = (blocks: readonly MarkdownBlock[]) => blocks.map(blockHtml).join('')
  switch (block.type) {
    case 'heading':
      return `<h${block.level}>${inlineHtml(block.children)}</h${block.level}>`
    case 'paragraph':
      return `<p>${inlineHtml(block.children)}</p>`
    case 'code':
      return `<pre><code${block.language && ` class="language-${escaped(block.language)}"`}>${escaped(block.text)}</code></pre>`
    case 'list': {
      const { start } = block
      const open = start === undefined ? 'ul' : start === 1 ? 'ol' : `ol start="${start}"`
      const items = block.items.map(({ blocks }) => `<li>${inside(blocks)}</li>`)
      return `<${open}>${items.join('')}</${start === undefined ? 'ul' : 'ol'}>`
    }
    case 'quote':
      return `<blockquote>${inside(block.blocks)}</blockquote>`
    case 'table':
      return '<table>'
    case 'rule':
      return '<hr />'
  }
}

function inlineHtml(inlines: readonly MarkdownInline[]): string {
  return inlines
    .map((inline) => {
      switch (inline.type) {
        case 'text':
          return escaped(inline.text)
        case 'code':
          return `<code>${escaped(inline.text)}</code>`
        case 'break':
          return '<br />'
        case 'link':
          return `<a href="${escaped(encodeURI(inline.target))}">${inlineHtml(inline.children)}</a>`
        case 'image':
          return `<img src="${escaped(encodeURI(inline.target))}" alt="${escaped(inline.alt)}" />`
        default: {
          const tag = { emphasis: 'em', strong: 'strong', strike: 'del' }[inline.type]
          return `<${tag}>${inlineHtml(inline.children)}</${tag}>`
        }
      }
    })
    .join('')
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

describe('any text', () => {
  test('of the CommonMark specification is read, and its words are kept', () => {
    for (const { markdown } of spec.tests) {
      const all = shown(markdownBlocks(markdown))
      // An entity is a character, not a word.
      for (const word of markdown.replace(/&#?\w+;/g, ' ').match(/[A-Za-z]{4,}/g) ?? []) {
        if (!all.includes(word) && !/title|tracks|ruby|startline|foo bar/.test(word + markdown))
          expect(all).toContain(word)
      }
    }
  })

  test('of the specification becomes its HTML as often as docs/dependencies.md says', () => {
    const right = spec.tests.filter(({ markdown, html }) => {
      const blocks = markdownBlocks(markdown.replaceAll('→', '\t'))
      return unspaced(blocks.map(blockHtml).join('')) === unspaced(html.replaceAll('→', '\t'))
    })
    const docs = readFileSync(new URL('../../docs/dependencies.md', import.meta.url), 'utf8')
    const said = /\d+ of the \d+ examples of CommonMark/.exec(docs)?.[0]
    expect(said).toBe(`${right.length} of the ${spec.tests.length} examples of CommonMark`)
  })

  test('is read without a fault', () => {
    const piece = fc.constantFrom(
      ...['*', '**', '_', '`', '```', '\n', '- ', '1. ', '> ', '|', '-|-', '[', '](', ')', '# ', '    '],
      ...['a', ' ', '\\', '~~', 'https://', '<', '>', '!['],
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        expect(markdownBlocks(pieces.join(''))).toBeInstanceOf(Array)
      }),
    )
  })

  test('takes linear time, whatever comes again and again', async () => {
    const pieces = [
      ...['*', '**a', '_a ', '`', '[', '](', '](a ', '![](', '> ', '- ', '>- ', '1. ', '|', '|-', '\n'],
      ...['~~a', 'https://(', '<http://', '\\', '*a_b', '# ', '    x\n', '- a\n', '> a\n\n', 'a\n'],
      ...['|a|\n|-|\n', '```\n', '```x', '[a](b', '((', ' '],
    ]
    for (const piece of pieces) {
      for (const before of ['', 'x']) {
        await expectLinear(before + piece, (size) => {
          const text = before + piece.repeat(size / piece.length)
          return () => markdownBlocks(text)
        })
      }
    }
  })

  test('with runs of backticks of every length is linear', async () => {
    await expectLinear('runs of backticks', (size) => {
      let text = ''
      for (let i = 1; text.length < size; i++) text += `${'`'.repeat(i)} `
      return () => markdownInlines(text)
    })
  })
})

describe('JSON without a fence is not Markdown', () => {
  test.each([
    ['{"__SKILL_DONE__": true}', ['{"__SKILL_DONE__": true}']],
    ['{"a": "*b* and `c`"}', ['{"a": "*b* and `c`"}']],
    ['Done.\n{"__SKILL_DONE__": true}\nBye.', ['Done.', '{"__SKILL_DONE__": true}', 'Bye.']],
    ['All done: {"__SKILL_DONE__": true}', ['All done: {"__SKILL_DONE__": true}']],
    ['["__a__", "__b__"]', ['["__a__", "__b__"]']],
    ['{\n  "__all__": [\n    "*x*"\n  ]\n}', [{ 'code json': '{\n  "__all__": [\n    "*x*"\n  ]\n}' }]],
    ['[\n  {"_a_": 1}\n]\n\nThen _this_.', [{ 'code json': '[\n  {"_a_": 1}\n]' }, 'Then <em>this</em>.']],
  ])('%j', (text, blocks) => {
    expect(read(text)).toEqual(blocks)
  })

  test.each([
    ['[1]'],
    ['{not json} __bold words__'],
    ['__bold words__ are bold'],
    ['[link](https://x.example)'],
  ])('%j is Markdown', (text) => {
    const [block] = markdownBlocks(text)
    expect(block?.type).toBe('paragraph')
    expect(block?.type === 'paragraph' && markdownText(block.children)).toBe(
      text.replaceAll('__', '').replace('[link](https://x.example)', 'link'),
    )
  })

  test('takes linear time, whatever does not parse', async () => {
    await expectLinear('open objects', (size) => {
      const text = '{"a":\n# h\n'.repeat(size / 10)
      return () => markdownBlocks(text)
    })
  })
})
