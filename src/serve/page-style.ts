/** How the page looks: ink on paper, and gold for what is chosen. */
export const style = `
:root {
  --paper: #fbfaf7; --sheet: #ffffff; --ink: #22242a; --soft: #5d6068; --faint: #8a8c92; --rule: #e7e4dc;
  --gold: #9a6b12; --gild: #f6e7bf; --gild-edge: #d9a531; --good: #2f7d4f; --bad: #b3392f; --wait: #2e6aa8; --code: #f4f2ec;
  --text: 15px/1.62 ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  --mono: 12.5px/1.6 ui-monospace, "SF Mono", "JetBrains Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) {
  --paper: #15161a; --sheet: #1b1d22; --ink: #e6e3dc; --soft: #a5a6ab; --faint: #8b8d94; --rule: #2b2d34;
  --gold: #e2b45a; --gild: #3d3218; --gild-edge: #c4922f; --good: #6fbf8d; --bad: #ec8379; --wait: #7fb2e6; --code: #22242a;
} }
:root[data-theme=dark] {
  --paper: #15161a; --sheet: #1b1d22; --ink: #e6e3dc; --soft: #a5a6ab; --faint: #8b8d94; --rule: #2b2d34;
  --gold: #e2b45a; --gild: #3d3218; --gild-edge: #c4922f; --good: #6fbf8d; --bad: #ec8379; --wait: #7fb2e6; --code: #22242a;
}
:root { color-scheme: light dark; }
:root[data-theme=light] { color-scheme: light; } :root[data-theme=dark] { color-scheme: dark; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html, body { height: 100%; margin: 0; }
body {
  display: grid; grid-template-columns: 284px minmax(0, 1.15fr) minmax(0, 1fr); background: var(--paper); color: var(--ink); font: var(--text);
}
button, input { font: inherit; color: inherit; }
h1, h2, p, ul, dl, dd { margin: 0; padding: 0; }
:focus-visible { outline: 2px solid var(--gild-edge); outline-offset: 2px; border-radius: 3px; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.skip { position: absolute; left: -999px; top: 8px; background: var(--sheet); padding: 6px 12px; z-index: 3; }
.skip:focus { left: 8px; }
kbd { font: var(--mono); font-size: 11px; padding: 1px 5px; border: 1px solid var(--rule); border-bottom-width: 2px; border-radius: 4px; background: var(--sheet); }

#side { display: flex; flex-direction: column; min-height: 0; border-right: 1px solid var(--rule); }
.brand { display: flex; align-items: center; gap: 9px; padding: 18px 18px 12px; }
.brand h1 { font-size: 16px; font-weight: 600; letter-spacing: .01em; flex: 1; }
.mark { width: 14px; height: 14px; border-radius: 4px; background: linear-gradient(160deg, var(--gild-edge), var(--gold)); }
#theme { border: 0; background: none; color: var(--faint); cursor: pointer; font-size: 15px; padding: 2px 4px; }
#theme:hover { color: var(--ink); }
.find { padding: 0 14px 10px; }
#find { width: 100%; padding: 6px 10px; font-size: 13px; border: 1px solid var(--rule); border-radius: 7px; background: var(--sheet); }
#find::placeholder { color: var(--faint); }
#runs { list-style: none; overflow-y: auto; padding: 0 8px 16px; flex: 1; scrollbar-width: thin; }
#runs a { display: grid; grid-template-columns: 10px minmax(0, 1fr) auto; gap: 0 9px; align-items: baseline; padding: 7px 10px; border-radius: 7px; color: inherit; text-decoration: none; }
#runs a:hover { background: color-mix(in srgb, var(--ink) 5%, transparent); }
#runs a[aria-current] { background: color-mix(in srgb, var(--gild) 75%, transparent); }
#runs .name { grid-column: 2 / 4; font-size: 13.5px; font-weight: 550; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
#runs .about { grid-column: 2; font-size: 11.5px; color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
#runs .when { font-size: 11.5px; color: var(--faint); font-variant-numeric: tabular-nums; }
#none { padding: 0 18px; font-size: 13px; color: var(--soft); }
.dot { display: inline-block; width: 8px; height: 8px; border-radius: 50%; background: var(--faint); align-self: center; }
.dot.succeeded { background: var(--good); } .dot.needs_input { background: var(--wait); } .dot.failed { background: var(--bad); }
.dot.cancelled { background: none; box-shadow: inset 0 0 0 1.5px var(--bad); }
.dot.unknown { background: none; box-shadow: inset 0 0 0 1.5px var(--faint); }
.dot.running { background: var(--gild-edge); animation: beat 1.6s ease-in-out infinite; }
@keyframes beat { 50% { opacity: .35; } }

#talk { display: flex; flex-direction: column; min-height: 0; min-width: 0; }
#head { padding: 18px 32px 12px; border-bottom: 1px solid var(--rule); }
#head .line { display: flex; align-items: center; gap: 10px; flex-wrap: wrap; }
#engine { font-weight: 600; font-size: 16px; }
#state { display: inline-flex; gap: 6px; align-items: center; font-size: 12.5px; padding: 1px 10px 1px 8px; border: 1px solid var(--rule); border-radius: 99px; background: var(--sheet); }
#link { font-size: 12px; color: var(--faint); }
#command { font: var(--mono); color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; margin-top: 3px; }
#facts { font-size: 12.5px; color: var(--faint); margin-top: 2px; font-variant-numeric: tabular-nums; }
.chips { display: flex; flex-wrap: wrap; gap: 6px; } .chips:not(:empty) { margin-top: 8px; }
.chips > * { font-size: 12px; padding: 1px 9px; border-radius: 99px; border: 1px solid var(--rule); background: var(--sheet); color: var(--soft); cursor: pointer; max-width: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.chips > *:hover { border-color: var(--gild-edge); color: var(--ink); }
.chips b { font-weight: 600; color: var(--ink); font-variant-numeric: tabular-nums; }
.chips .bad { color: var(--bad); }
#conversation { flex: 1; overflow-y: auto; padding: 14px 20px 40vh 12px; outline: none; scrollbar-width: thin; }
#welcome { margin: auto; text-align: center; color: var(--soft); } #welcome .keys { font-size: 12.5px; color: var(--faint); margin-top: 10px; }

article { position: relative; display: grid; grid-template-columns: 40px minmax(0, 1fr); padding: 6px 12px 6px 0; border-radius: 8px; cursor: default; content-visibility: auto; contain-intrinsic-size: auto 48px; }
article > .seq { font: var(--mono); font-size: 11px; line-height: 24px; color: var(--faint); text-align: right; padding-right: 14px; opacity: 0; user-select: none; }
article:hover > .seq, article.chosen > .seq, article:focus > .seq { opacity: 1; }
article:focus { outline: none; } article:focus-visible { outline: 2px solid var(--gild-edge); outline-offset: -2px; }
article.chosen { background: color-mix(in srgb, var(--gild) 62%, transparent); }
article.chosen::before { content: ""; position: absolute; inset: 6px auto 6px 0; width: 3px; border-radius: 2px; background: var(--gild-edge); }
.body { min-width: 0; overflow-wrap: anywhere; }
.said { white-space: pre-wrap; max-width: 74ch; }
.asked { white-space: pre-wrap; max-width: 74ch; width: fit-content; background: var(--code); border-radius: 10px; padding: 7px 14px; margin: 4px 0; font-weight: 500; } article.chosen .asked { background: color-mix(in srgb, var(--sheet) 65%, transparent); }
.said pre, .io pre { font: var(--mono); white-space: pre-wrap; background: var(--code); border-radius: 7px; padding: 9px 12px; margin: 6px 0; overflow-wrap: anywhere; max-height: 26em; overflow: auto; scrollbar-width: thin; }
article.chosen pre { background: color-mix(in srgb, var(--sheet) 65%, transparent); }
.said code { font: var(--mono); background: var(--code); border-radius: 4px; padding: 1px 5px; }
.said.open::after { content: ""; display: inline-block; width: 7px; height: 1.05em; background: var(--gild-edge); vertical-align: -2px; margin-left: 3px; animation: beat 1.1s infinite; }
.cut { font-size: 12px; color: var(--bad); }
details > summary { list-style: none; cursor: pointer; display: flex; gap: 8px; align-items: baseline; min-width: 0; }
summary::-webkit-details-marker { display: none; }
summary::before { content: "›"; color: var(--faint); width: 8px; flex: none; transition: transform .12s; }
details[open] > summary::before { transform: rotate(90deg); }
summary .text { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; }
.reason summary { color: var(--soft); font-size: 14px; } .reason summary .text { font-style: italic; }
.reason .said { color: var(--soft); font-size: 14px; padding: 4px 0 2px 16px; }
.tool summary { font-size: 13.5px; } .tool .name { font-weight: 600; flex: none; } .tool .text { font: var(--mono); color: var(--soft); }
.tool .how { flex: none; margin-left: auto; font-size: 12px; color: var(--soft); } .how.good { color: var(--good); } .how.bad { color: var(--bad); }
.io { padding-left: 16px; } .io h3 { font-size: 11px; font-weight: 600; color: var(--faint); margin: 6px 0 0; letter-spacing: .02em; }
.step { font-size: 12px; color: var(--faint); display: flex; gap: 10px; align-items: center; } .step::after { content: ""; flex: 1; height: 1px; background: var(--rule); }
.file { font: var(--mono); color: var(--soft); } .file b { color: var(--good); font-weight: 600; } .file.modified b { color: var(--wait); } .file.deleted b { color: var(--bad); }
.note { font-size: 12.5px; color: var(--soft); } .note b { font: var(--mono); font-size: 11.5px; color: var(--gold); } .note.error b, .note.fatal b { color: var(--bad); }
.lines summary { font-size: 12.5px; color: var(--faint); } .lines pre { font: var(--mono); color: var(--soft); white-space: pre-wrap; overflow-wrap: anywhere; margin: 4px 0 0 16px; }
.end { border: 1px solid var(--rule); background: var(--sheet); border-radius: 10px; padding: 12px 16px; max-width: 74ch; } article.chosen .end { background: transparent; }
.end h2 { font-size: 15px; font-weight: 600; display: flex; gap: 9px; align-items: center; } .end p { color: var(--soft); font-size: 13.5px; margin-top: 2px; }
.attempt { font-size: 12px; font-weight: 600; color: var(--soft); padding-top: 14px; }

#raw { display: flex; flex-direction: column; min-height: 0; min-width: 0; border-left: 1px solid var(--rule); background: var(--sheet); }
#raw header { display: flex; align-items: center; gap: 12px; padding: 12px 18px 0; border-bottom: 1px solid var(--rule); flex-wrap: wrap; }
#streams { display: flex; gap: 2px; flex-wrap: wrap; }
#streams button { border: 0; background: none; padding: 5px 10px 9px; font-size: 13px; color: var(--soft); cursor: pointer; border-bottom: 2px solid transparent; }
#streams button[aria-selected=true] { color: var(--ink); border-color: var(--gild-edge); font-weight: 600; }
#streams small { color: var(--faint); font-weight: 400; font-variant-numeric: tabular-nums; }
#range { margin-left: auto; font-size: 12px; color: var(--soft); padding-bottom: 8px; font-variant-numeric: tabular-nums; }
#bytes { flex: 1; overflow: auto; padding: 10px 0 30vh; font: var(--mono); scrollbar-width: thin; }
.row { display: grid; grid-template-columns: 76px minmax(0, 1fr); padding-right: 14px; }
.row .at { color: var(--faint); text-align: right; padding-right: 16px; user-select: none; font-variant-numeric: tabular-nums; font-size: 11px; line-height: 20px; }
.row .line { white-space: pre-wrap; overflow-wrap: anywhere; color: var(--soft); cursor: pointer; }
.row:hover .line { color: var(--ink); }
.row.lit { background: color-mix(in srgb, var(--gild) 55%, transparent); box-shadow: inset 3px 0 0 var(--gild-edge); }
.row mark { background: var(--gild); color: var(--ink); border-radius: 2px; box-decoration-break: clone; }
.more { display: block; width: 100%; border: 0; background: none; padding: 6px; font-size: 12px; color: var(--faint); cursor: pointer; } .more:hover { color: var(--gold); }
.void { padding: 24px; color: var(--faint); text-align: center; }
dialog { border: 1px solid var(--rule); border-radius: 12px; background: var(--sheet); color: var(--ink); padding: 20px 26px; } dialog::backdrop { background: rgb(0 0 0 / .35); }
dialog h2 { font-size: 15px; margin-bottom: 10px; } dialog dl { display: grid; grid-template-columns: auto 1fr; gap: 6px 18px; font-size: 13.5px; } dialog form { margin-top: 14px; text-align: right; }
dialog button { border: 1px solid var(--rule); border-radius: 7px; background: var(--paper); padding: 3px 14px; cursor: pointer; }
@media (max-width: 1080px) { body { grid-template-columns: 210px minmax(0, 1fr); grid-template-rows: minmax(0, 3fr) minmax(0, 2fr); } #side { grid-row: 1 / 3; } #raw { border-left: 0; border-top: 1px solid var(--rule); } }
@media (max-width: 640px) { body { display: block; height: auto; } #side { max-height: 34vh; border-right: 0; border-bottom: 1px solid var(--rule); } #conversation { padding-bottom: 24px; } #raw { height: 60vh; } #head { padding: 14px 16px; } }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; scroll-behavior: auto !important; } }
`
