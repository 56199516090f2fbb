import { expect, test } from 'vitest'
import { markdownInlines, markdownText } from '../../src/views/markdown/inlines.ts'

test.each([
  '__main__.py',
  'Call __init__ and __del__.',
  '__init__.py',
  '__tests__/a_b_c.ts',
  '"__SKILL_DONE__": true',
  'if __name__ == "__main__":',
  'print(*rows, **more)',
  'f(*args) and g(*rest)',
  'f(**a,**b)',
  'foo(*x*)',
  '{**a,**b}',
  '8*8*8',
  '2**3**4',
  '(a+b)*c*d',
  '5*x*(y)',
  'min(*a*2, *b*3)',
  'int *a, *b;',
  'src/*.ts,lib/*.ts',
  '(*.ts,*.js)',
  'SELECT *, count(*) FROM t',
  '_.map(_)',
  'self._a + self._b',
  'snake_case_name and other_name',
  'a~~b~~c',
])('keeps the words of %s', (text) => {
  expect(markdownText(markdownInlines(text))).toBe(text)
})

test.each([
  ['**bold** text', 'strong', 'bold text'],
  ['a *b* c', 'emphasis', 'a b c'],
  ['_it_ is', 'emphasis', 'it is'],
  ['__bold words__', 'strong', 'bold words'],
  ['这是**重点**内容', 'strong', '这是重点内容'],
  ['**Note:** x', 'strong', 'Note: x'],
  ['Status:**done**', 'strong', 'Status:done'],
  ['(*x*)', 'emphasis', '(x)'],
  ['**.gitignore** is', 'strong', '.gitignore is'],
  ['~~gone~~', 'strike', 'gone'],
])('draws the emphasis of %s', (text, type, words) => {
  const inlines = markdownInlines(text)
  expect(inlines.map((inline) => inline.type)).toContain(type)
  expect(markdownText(inlines)).toBe(words)
})
