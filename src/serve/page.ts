import {
  besideScript,
  besideStyle,
  moreScript,
  moreStyle,
  pageBody,
  pageScript,
  pageStyle,
} from './page-text.js'

/** The head of every page; `top` is the address of its files, `more` are elements of one page alone. */
const pageHead = (top: string, more = ''): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>sluice</title>
<link rel="icon" href="${top}icon.svg">
<link rel="stylesheet" href="${top}page.css">
${more}</head>
`

/** The page; `top` is the address of its files, relative to its own. */
export const pageHtml = (top: string): string =>
  `${pageHead(top, `<script src="${top}page.js" defer></script>\n`)}<body>
${pageBody}</body>
</html>
`

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3.5" fill="#b98a2b"/><path d="M3 5.5h10M3 8h7M3 10.5h4" stroke="#fff" stroke-width="1.4" stroke-linecap="round"/></svg>`

/** All files of the page, by path. They are in the code, so that the package needs no other files. */
export const pageFiles: ReadonlyMap<string, { readonly type: string; readonly text: string }> = new Map([
  ['/', { type: 'text/html; charset=utf-8', text: pageHtml('') }],
  ['/page.css', { type: 'text/css; charset=utf-8', text: pageStyle }],
  ['/page.js', { type: 'text/javascript; charset=utf-8', text: pageScript }],
  ['/more.js', { type: 'text/javascript; charset=utf-8', text: moreScript }],
  ['/more.css', { type: 'text/css; charset=utf-8', text: moreStyle }],
  ['/beside.js', { type: 'text/javascript; charset=utf-8', text: besideScript }],
  ['/beside.css', { type: 'text/css; charset=utf-8', text: besideStyle }],
  ['/icon.svg', { type: 'image/svg+xml', text: icon }],
])

/**
 * The page that asks for the token. It has no script: a form without an action is sent to the address of the
 * page, and a browser keeps the fragment of that (`#run/…`) over the redirect that answers it.
 */
export function loginPage(wrong?: string): string {
  return `${pageHead('/')}<body class="gate">
<main>
<form method="post">
<h1>sluice</h1>
<label for="token">The token of this server</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
${wrong === undefined ? '' : `<p class="wrong" role="alert">${wrong}</p>\n`}<button>Show the runs</button>
</form>
</main>
</body>
</html>
`
}
