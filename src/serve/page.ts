import { pageHead } from './page-head.ts'
import { pageBody, pageScript, pageStyle } from './page-text.ts'

const html = `${pageHead('<script src="/page.js" defer></script>\n')}<body>
${pageBody}</body>
</html>
`

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3.5" fill="#b98a2b"/><path d="M3 5.5h10M3 8h7M3 10.5h4" stroke="#fff" stroke-width="1.4" stroke-linecap="round"/></svg>`

/** All files of the page, by path. They are in the code, so that the package needs no other files. */
export const pageFiles: ReadonlyMap<string, { readonly type: string; readonly text: string }> = new Map([
  ['/', { type: 'text/html; charset=utf-8', text: html }],
  ['/page.css', { type: 'text/css; charset=utf-8', text: pageStyle }],
  ['/page.js', { type: 'text/javascript; charset=utf-8', text: pageScript }],
  ['/icon.svg', { type: 'image/svg+xml', text: icon }],
])
