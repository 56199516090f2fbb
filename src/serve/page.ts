import { script } from './page-script.ts'
import { style } from './page-style.ts'

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>sluice</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/page.css">
<script src="/page.js" defer></script>
</head>
<body>
<a class="skip" href="#conversation">Skip to the conversation</a>
<nav id="side" aria-label="Runs">
  <header class="brand"><span class="mark" aria-hidden="true"></span><h1>sluice</h1>
    <button id="theme" type="button" title="Light or dark (t)" aria-label="Light or dark">◐</button></header>
  <label class="find"><span class="hidden">Find a run</span>
    <input id="find" type="search" placeholder="Find a run" autocomplete="off" spellcheck="false"></label>
  <ul id="runs"></ul>
  <p id="none" hidden>No runs here yet.</p>
</nav>
<main id="talk" aria-label="Conversation">
  <header id="head" hidden>
    <div class="line"><span id="engine"></span><span id="state"></span><span id="link" role="status"></span></div>
    <p id="command"></p>
    <p id="facts"></p>
    <div id="files" class="chips" aria-label="Files"></div>
    <div id="notes" class="chips" aria-label="Diagnostics"></div>
  </header>
  <div id="conversation" role="feed" aria-busy="false" tabindex="-1"></div>
  <div id="welcome"><p>Choose a run.</p><p class="keys"><kbd>j</kbd> <kbd>k</kbd> move · <kbd>Enter</kbd> fold · <kbd>/</kbd> find · <kbd>?</kbd> keys</p></div>
</main>
<section id="raw" aria-label="Raw bytes" hidden>
  <header><div id="streams" role="tablist" aria-label="Streams"></div><p id="range" role="status"></p></header>
  <div id="bytes" tabindex="0" role="region" aria-label="Raw bytes of the stream"></div>
</section>
<dialog id="help" aria-label="Keys">
  <h2>Keys</h2>
  <dl>
    <dt><kbd>j</kbd> <kbd>↓</kbd></dt><dd>next</dd><dt><kbd>k</kbd> <kbd>↑</kbd></dt><dd>previous</dd>
    <dt><kbd>g</kbd> <kbd>G</kbd></dt><dd>first, last</dd><dt><kbd>Enter</kbd></dt><dd>fold or unfold</dd>
    <dt><kbd>f</kbd></dt><dd>fold or unfold everything</dd><dt><kbd>d</kbd></dt><dd>next diagnostic</dd>
    <dt><kbd>s</kbd></dt><dd>next stream</dd><dt><kbd>/</kbd></dt><dd>find a run</dd><dt><kbd>t</kbd></dt><dd>light or dark</dd>
    <dt><kbd>Esc</kbd></dt><dd>choose nothing</dd>
  </dl>
  <form method="dialog"><button>Close</button></form>
</dialog>
</body>
</html>
`

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3.5" fill="#b98a2b"/><path d="M3 5.5h10M3 8h7M3 10.5h4" stroke="#fff" stroke-width="1.4" stroke-linecap="round"/></svg>`

/** Everything the page consists of, by path. It stands in the code, so that the package needs no files beside it. */
export const pageFiles: ReadonlyMap<string, { readonly type: string; readonly text: string }> = new Map([
  ['/', { type: 'text/html; charset=utf-8', text: html }],
  ['/page.css', { type: 'text/css; charset=utf-8', text: style }],
  ['/page.js', { type: 'text/javascript; charset=utf-8', text: script }],
  ['/icon.svg', { type: 'image/svg+xml', text: icon }],
])
