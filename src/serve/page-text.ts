export { script as pageScript } from './page-script.ts'
export { style as pageStyle } from './page-style.ts'

/** What is inside <body>. */
export const pageBody = `<a class="skip" href="#conversation">Skip to the conversation</a>
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
`
