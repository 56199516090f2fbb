/**
 * Every regular expression in src/, and why it cannot be made to take long: its input is bounded, or each
 * character is looked at a bounded number of times. A new one is added here after review.
 */
export const reviewed: Readonly<Record<string, { readonly why: string; readonly max?: number }>> = {
  'ask/retry-prompt.ts /^[\\w.-]{1,60}$/': {
    why: 'anchored and bounded: the name of a rule, of which 60 characters are kept',
  },
  'ask/subtrees.ts /^#\\/(\\$defs|definitions)\\/([^/~%]{1,200})$/': {
    why: 'a $ref of a schema, which is trusted, and bounded',
  },
  'engines/claude-turn.ts /^(multi)?edit$/i': {
    why: 'anchored: it stops at the first character that does not fit',
  },
  'engines/claude-turn.ts /^write/i': { why: 'anchored: it stops at the first character that does not fit' },
  'events/lines.ts /[\\u0090\\u0098\\u009b\\u009d-\\u009f]/': {
    why: 'one class, every character is read once',
  },
  'events/payload.ts /[\\s\\0]/': { why: 'one class, tested on one character' },
  'events/payload.ts /[\\u0080-\\u009f]/': { why: 'one class, every character is read once' },
  'frames/fence.ts /[\\n\\r\\t]/g': { why: 'one class, and 64 KiB at most', max: 65_536 },
  'values/items/item-paths.ts /^\\d+$/': { why: 'one class, every character is read once' },
  'values/ladder/element-end.ts /[,\\]}]/': {
    why: 'one class, in a text of at most 512 characters',
    max: 512,
  },
  'values/ladder/element-end.ts /^[{[][\\s\\\\nrt{[]{0,99}\\\\"/': {
    why: 'a run of at most 99 characters, in a text of at most 128',
    max: 128,
  },
  'values/items/items.ts /^[{[]/': { why: 'looks at the first character' },
  'base/fault.ts /[\\ud800-\\udbff]/': { why: 'text that was clipped before' },
  'cli/ask.ts /^\\d{1,4}$/': { why: 'an option on the command line' },
  'cli/safe.ts /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]|\\p{Cs}/gu':
    { why: 'one class, every character is read once' },
  'cli/module-file.ts /[\\\\/]/': { why: 'an option on the command line' },
  'cli/duration.ts /^(\\d{1,9}(?:\\.\\d{1,3})?)(ms|s|m|h)?$/': { why: 'an option on the command line' },
  'cli/replay.ts /^[1-9]\\d{0,8}$/': { why: 'an option on the command line' },
  'cli/serve.ts /^\\d{1,5}$/': { why: 'an option on the command line' },
  'nats/nats-options.ts /^[\\w-]{1,64}$/': { why: 'an option, anchored and bounded' },
  "nats/token.ts /^[\\w\\-!~'()%]+$/": { why: 'one class, in a text of at most 200 characters' },
  'nats/nats-ledger.ts /^[\\w-]{1,64}$/': { why: 'an option, anchored and bounded' },
  'cli/width.ts /\\ufe0f/u': { why: 'one grapheme' },
  'cli/width.ts /^[\\p{Mn}\\p{Me}\\p{Cf}]/u': { why: 'one grapheme' },
  'cli/width.ts /^\\p{Emoji_Presentation}/u': { why: 'one grapheme' },
  'cli/width.ts /^\\p{RI}\\p{RI}/u': { why: 'one grapheme' },
  'engines/bare-records.ts /^(?:data: ?|\\u001e|\\d{4}-\\d\\d-\\d\\d[T ][\\d:.,+Z-]{8,40} (?:\\S{1,100} )?|[\\w.]{1,64}[-_]\\d{1,3} {1,64}\\| |\\[pod\\/[^\\]\\s]{1,200}\\] |[A-Z][a-z]{2} [ \\d]\\d [\\d:]{8} \\S{1,64} [^\\s:]{1,80}: )[{[]/':
    {
      why: 'anchored, with bounded runs, in a text of at most 330 characters',
      max: 330,
    },
  'engines/codex.ts /^Reconnecting/': { why: 'anchored, every character is read once' },
  'engines/gemini-log.ts /^(?:Error when talking to Gemini API|Error generating content|An unexpected critical error occurred:|\\[API Error)/':
    { why: 'anchored, the first 500 characters of a line or fewer', max: 500 },
  'engines/gemini-log.ts /^(?:Loaded cached credentials\\.|Data collection is disabled\\.|YOLO mode is enabled\\. All tool calls will be automatically approved\\.|Ripgrep is not available\\. Falling back to GrepTool\\.|\\[STARTUP\\] .{1,150})$/':
    { why: 'anchored, the first 500 characters of a line or fewer', max: 500 },
  'engines/gemini-log.ts /^(?:[ \\t]|[}\\]],?$)/': {
    why: 'anchored, the first 500 characters of a line or fewer',
    max: 500,
  },
  'engines/gemini-log.ts /^(?:\\w{0,40}Error: )?got status: \\d{3}\\b/': {
    why: 'anchored, the first 500 characters of a line or fewer',
    max: 500,
  },
  'engines/gemini-log.ts /^(?:\\w{0,40}Error: |API )?request failed with status(?: code)?:? \\d{3}\\b/i': {
    why: 'anchored, the first 500 characters of a line or fewer',
    max: 500,
  },
  'engines/gemini-log.ts /^(Warning: |YOLO mode is enabled|Ripgrep is not available|Loaded cached credentials|Data collection is disabled\\.$|\\[STARTUP\\])/':
    { why: 'anchored, the first 500 characters of a line or fewer', max: 500 },
  'engines/gemini-log.ts /^\\[[A-Za-z][\\w.:-]{1,40}\\] \\S/': {
    why: 'the first 100 characters of a line',
    max: 100,
  },
  'engines/gemini-log.ts /^Attempt \\d{1,4} failed(?: with status(?: code)? \\d{3})?(?![,\\w]| [a-z])/': {
    why: 'anchored, the first 500 characters of a line or fewer',
    max: 500,
  },
  'engines/gemini-log.ts /^Attempt \\d{1,4} failed/': {
    why: 'anchored, the first 500 characters of a line or fewer',
    max: 500,
  },
  'engines/gemini.ts /^\\{\\s*"response":\\s*"/': {
    why: 'anchored, the first 200 characters of a document',
    max: 500,
  },
  'engines/gemini.ts /^\\{\\s*"session_id":\\s*"([^"]+)",\\s*/': {
    why: 'anchored, the first 200 characters of a line',
    max: 200,
  },
  'events/unknown-records.ts /^[\\w.$@/-]+$/': { why: 'one class, on a key of at most 24 characters' },
  'engines/iflow.ts /"session-id"\\s*:\\s*"([^"]{1,200})"/': {
    why: 'the first 500 or 4096 characters of a line',
    max: 4_096,
  },
  'engines/iflow.ts /^(\\w*Error|Failed|Exception)\\b/': {
    why: 'the first 500 or 4096 characters of a line',
    max: 4_096,
  },
  'engines/iflow.ts /^Error executing tool \\S+:/': {
    why: 'the first 500 or 4096 characters of a line',
    max: 4_096,
  },
  'engines/iflow.ts /\\b(?:Resum|Continu|Restor)(?:ing|ed) (?:from )?(?:session|conversation):? ["\'`]?([\\w-]{8,100})["\'`]?(?:\\.{1,3}|…)?(?: \\([^()]{1,60}\\))?\\.?$/iu':
    { why: 'the first 500 or 4096 characters of a line', max: 500 },
  'engines/iflow.ts /^(?:ℹ\\ufe0f? {1,2})?(?:Resum|Continu|Restor)(?:ing|ed) (?:from )?(?:session|conversation):? ["\'`]?([\\w-]{8,100})["\'`]?(?:\\.{1,3}|…)?(?: \\([^()]{1,60}\\))?\\.?$/iu':
    { why: 'the first 500 or 4096 characters of a line', max: 500 },
  'engines/iflow.ts /^\\W{0,8}session[-_ ]?id\\W{1,4}([\\w-]{8,100})\\W{0,3}$/i': {
    why: 'the first 500 or 4096 characters of a line',
    max: 500,
  },
  'engines/iflow.ts /session-id\\s*[:=]\\s*([\\w-]{8,100})/': {
    why: 'the first 500 or 4096 characters of a line',
    max: 4_096,
  },
  'engines/iflow.ts /\\d/': { why: 'the first 500 or 4096 characters of a line', max: 500 },
  'events/artifacts.ts /[\\u0000-\\u001f\\u007f]/': {
    why: 'a path of at most 4096 characters, every one read once',
    max: 4_096,
  },
  'events/artifacts.ts /\\p{Default_Ignorable_Code_Point}/gu': {
    why: 'a path of at most 4096 characters, every one read once',
    max: 4_096,
  },
  'events/artifacts.ts /^[A-Za-z]:/': {
    why: 'a path of at most 4096 characters, every one read once',
    max: 4_096,
  },
  'events/cut.ts /\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d[.\\d]*Z\\s+(?:ERROR|WARN|INFO|DEBUG|TRACE)\\s/': {
    why: 'the last 4096 characters of a line, and what repeats cannot begin a match',
    max: 4_096,
  },
  'frames/fence-opening.ts /^ {0,3}$/': { why: 'at most 64 characters before a fence', max: 64 },
  'frames/fence-opening.ts /^ {0,3}(?:(>) ?|(?:[-*+]|\\d{1,9}[.)])[ \\t]+)/': {
    why: 'at most 64 characters before a fence',
    max: 64,
  },
  'frames/frames.ts /^[A-Za-z][A-Za-z0-9_:.-]{0,63}$/': { why: 'an option' },
  'run/audit.ts /^([a-z-]+)(?:\\.(\\d{1,9}))?\\.(log|jsonl?)$/': { why: 'the name of a file', max: 255 },
  'run/fs-diff.ts /^\\/?[\\w.-]+\\/?$/': {
    why: 'a line of a .gitignore of at most 64 KiB, anchored',
    max: 65_536,
  },
  'serve/access.ts /^[\\x21-\\x7e]{16,1024}$/': { why: 'an option, anchored and bounded' },
  'serve/page/address.ts /^(\\d{1,9})\\.(\\d{1,15})$/': { why: 'anchored and bounded' },
  'serve/page/head.ts /^[\\w@%+=:,./-]{1,500}$/': { why: 'anchored and bounded' },
  'serve/page/words.ts /[\\u0000-\\u0008\\u000b-\\u001f\\u007f]/g': {
    why: 'one class, every character is read once',
  },
  'serve/raw.ts /^\\d{1,15}$/': { why: 'anchored and bounded' },
  'serve/host-header.ts /:\\d{1,5}$/': { why: 'a Host header, which Node bounds at 16 KiB', max: 16_384 },
  'serve/host-header.ts /^\\[(.*)\\]$/': { why: 'a Host header, which Node bounds at 16 KiB', max: 16_384 },
  'serve/session-runs.ts /^[\\w./-]{1,240}$/': { why: 'anchored and bounded' },
  'serve/stream.ts /^(?:(\\d{1,9})\\.)?(\\d{1,15})$/': {
    why: 'an id of at most 1024 characters, anchored and bounded',
  },
  'serve/stream.ts /^\\d{1,15}$/': { why: 'anchored and bounded' },
  'sinks/lock.ts /^[\\w-]{1,64}$/': { why: 'anchored and bounded' },
  'sinks/sse.ts /[\\r\\n\\0]/': { why: 'one class, every character is read once' },
  'sinks/sse.ts /\\r\\n|\\r|\\n/': { why: 'one class, every character is read once' },
  'values/schema/json-schema.ts /#$/': { why: 'the $schema of a schema, which is trusted' },
  'values/schema/json-schema.ts /^https?:\\/\\//': { why: 'the $schema of a schema, which is trusted' },
  'views/markdown-safe.ts /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]/g': {
    why: 'one class, every character is read once',
  },
  'views/markdown-safe.ts /\\n{1,9}$/': { why: 'at most nine looked at from each character' },
  'views/redact-names.ts /^\\$(?:[A-Za-z_]\\w{0,80}$|[{(])/': {
    why: 'anchored and bounded, the first 100 characters of a value',
    max: 100,
  },
  'work/comment.ts /&/g': { why: 'one class, every character is read once' },
  'work/comment.ts /</g': { why: 'one class, every character is read once' },
  'work/comment.ts /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]/g': {
    why: 'one class, every character is read once',
  },
  'work/comment.ts /\\r\\n?|[\\u2028\\u2029\\u0085]/g': { why: 'one class, every character is read once' },
  'work/comment.ts /\\s+/g': { why: 'a field of bounded length, every character is read once' },
  'work/comment.ts /\\{\\{([^{}]{0,100})\\}\\}/g': {
    why: 'a template, which is trusted; at most 100 looked at from each brace',
  },
  'work/ledger.ts /^\\d{9}\\.json$/': { why: 'the name of a file', max: 255 },
  'work/order.ts /[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Cs}]/u': { why: 'one class, the first hit ends it' },
  'work/outbox.ts /[^A-Za-z0-9]+/g': { why: 'a name of bounded length, every character read once' },
  'work/outbox.ts /^<!-- sluice-work ([0-9a-f]{64}(?:-[a-z-]{1,20})?)(?: (\\d{1,9}))? -->\\n/': {
    why: 'the first 200 characters of a comment; anchored, and every part is bounded',
    max: 200,
  },
  'work/result.ts /[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Cs}]/u': { why: 'one class, the first hit ends it' },
  'events/payload.ts /^(?:\\{[\\w.-]{1,64}\\}|\\[[\\w.-]{1,64}\\])\\s{1,9}[A-Za-z]/': {
    why: 'anchored, every part bounded, on 100 characters',
  },
  'events/payload.ts /[{[]|^[\\s\\0]{0,99}["\\d+.tfnTFN\'“-]/': {
    why: '64 KiB at most, anchored or one class',
  },
  'values/ladder/candidates.ts /[{[]\\s*"/': {
    why: 'each bracket looks at the blanks behind it, and no other does',
  },
  'values/ladder/candidates.ts /^[{[][\\s[]{0,4096}(?:\\{\\s{0,4096})?"/': {
    why: 'the first 8,300 characters; each is read twice at most',
  },
  'values/ladder/candidates.ts /^\\[?[\\s[]*\\{/': {
    why: 'the first 8,300 characters; each is read twice at most',
  },
  'values/ladder/repair-guesses.ts /"\\s{0,99}\\+\\s{0,99}"/': {
    why: 'runs of at most 99 characters; what is read is counted, see `effort`',
  },
  'values/ladder/repair-guesses.ts /,$/': {
    why: 'runs of at most 99 characters; what is read is counted, see `effort`',
  },
  'values/ladder/repair-guesses.ts /,\\s{0,9}\\.\\.\\.$/': {
    why: 'runs of at most 99 characters; what is read is counted, see `effort`',
  },
  'values/ladder/repair-guesses.ts /[ \\t](?:\\/\\/|\\/\\*|# )/': {
    why: 'runs of at most 99 characters; what is read is counted, see `effort`',
  },
  'values/ladder/repair-guesses.ts /[\'’”`] {0,9}[,:]|\\\\" {0,9}:/': {
    why: 'runs of at most 99 characters; what is read is counted, see `effort`',
  },
  'values/ladder/repair-guesses.ts /[,{}[\\]]/': {
    why: 'runs of at most 99 characters; what is read is counted, see `effort`',
  },
  'values/ladder/repair-guesses.ts /[\\n:,]/': {
    why: 'runs of at most 99 characters; what is read is counted, see `effort`',
  },
  "values/ladder/repair-guesses.ts /^(?:https?|ftp|file|mailto|data|irc):\\/\\/[A-Za-z0-9\\-._~:/?#@!$&'()*+;=%]+/":
    { why: 'runs of at most 99 characters; what is read is counted, see `effort`' },
  'values/ladder/repair-search.ts /^\\\\(?:u[0-9a-fA-F]{0,3})?$/': { why: 'six characters' },
  'values/ladder/payload-fence.ts /[ \\t]/': {
    why: 'one class, the first hit ends it; or the first 4,100 characters',
  },
  'values/ladder/payload-fence.ts /^[\\s\\ufeff]{0,4096}[{[]/': {
    why: 'one class, the first hit ends it; or the first 4,100 characters',
  },
  'values/ladder/quotes.ts /[A-Za-z]/': { why: 'six characters at most' },
  'values/ladder/quotes.ts /\\w/': { why: 'six characters at most' },
  'values/ladder/quotes.ts /^[0-9a-fA-F]/': { why: 'six characters at most' },
  'values/ladder/quotes.ts /^[0-9a-fA-F]{2}$/': { why: 'six characters at most' },
  'values/ladder/quotes.ts /^[0-9a-fA-F]{4}$/': { why: 'six characters at most' },
  'values/ladder/quotes.ts /^\\\\\\\\\\w/': { why: 'six characters at most' },
  'values/ladder/structure.ts /^[\\s\\ufeff]*(?:[}\\]]|"(?:[^"\\\\]|\\\\.){0,256}"\\s*:|[,:][\\s\\ufeff]*(?:["\'“{[\\d-]|true|false|null|[\\p{L}_$][\\p{L}\\p{N}_$\'-]{0,255}"?\\s*:))/su':
    { why: '4,096 characters' },
  'values/ladder/repair-syntax.ts /^(?:true|false|null)(?=true$|false$|null$|-?\\d)/': {
    why: 'one word of at most 256 characters',
  },
  'values/ladder/repair-syntax.ts /^[+-]?0\\d/': { why: 'one word of at most 256 characters' },
  'values/ladder/repair-syntax.ts /^[A-Za-z0-9]{1,16}[ \\t]*(?=\\r?\\n|$)/': {
    why: 'one word of at most 256 characters',
  },
  'values/ladder/unescape.ts /^[{[][\\s\\\\nrt]*$/': { why: 'anchored, one class; 64 KiB at most' },
  'values/ladder/bare-words.ts /[^A-Za-z]+/': { why: 'one word or number of at most 400 characters' },
  'values/ladder/bare-words.ts /^(?:true|false|null)./': {
    why: 'one word or number of at most 400 characters',
  },
  'values/ladder/bare-words.ts /^-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?$/': {
    why: 'one word or number of at most 400 characters',
  },
  'values/ladder/bare-words.ts /^0+(?=\\d)/': { why: 'one word or number of at most 400 characters' },
  'values/ladder/bare-words.ts /^[\\p{L}\\p{N}\\p{Extended_Pictographic}_$]/u': {
    why: 'one word or number of at most 400 characters',
  },
  'values/ladder/bare-words.ts /^\\d{4}-\\d\\d-\\d\\d(?:T\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d{1,9})?)?(?:Z|[+-]\\d\\d:\\d\\d)?)?$/':
    { why: 'one word or number of at most 400 characters' },
  'values/outcomes.ts /"\\s{0,99}:\\s{0,99}$/': {
    why: 'runs of bounded length, in text of at most maxRepair',
  },
  'values/outcomes.ts /["\'’”\\w]\\s{0,99}:/': {
    why: 'runs of bounded length, in text of at most maxRepair',
  },
  'values/outcomes.ts /^\\[\\s{0,4096}\\{/': { why: 'runs of bounded length, in text of at most maxRepair' },
  'values/ladder/bare-words.ts /["“”„‟`{}[\\]:,]|\\\\(?!n)|;(?! )|[\\u0000-\\u001f]/u': {
    why: 'classes and one character of look-ahead, in one text of at most 256 characters',
  },
  'values/ladder/bare-words.ts /^([+-]?)(?=\\.?\\d)(\\d*)((?:\\.\\d+)?(?:[eE][+-]?\\d+)?)$/': {
    why: 'one number of at most 400 characters; each part begins with a character that no other part has',
  },
  'values/ladder/bare-words.ts /^\\d+(?: \\p{L}+){3,}/u': {
    why: 'one text of at most 256 characters; a blank separates the repetitions',
  },
  'values/outcomes.ts /^[\\s\\ufeff\\0]{0,4096}["\'`‘’“”\\\\\\d+.TFNI-]/': {
    why: 'a run of at most 4,096 characters',
  },
  "values/ladder/ends-in-string.ts /['`´‘-‟]/": { why: 'looks for one character' },
  'values/outcomes.ts /^[{[]/': { why: 'looks at the first character' },
  'values/outcomes.ts /^[{[]\\s{0,4096}[{["\']/': { why: 'a run of at most 4,096 characters' },
  'values/outcomes.ts /^\\[\\s{0,99}[["]/': { why: 'a run of at most 99 characters' },
  'values/outcomes.ts /^\\s*(?:\\/[/*]|#)/': { why: 'anchored, in the first 4,200 characters' },
  'values/make-outcome.ts /[{[]/': { why: 'one class, the first hit ends it' },
  'values/ladder/repair-guesses.ts /,[ \\t]{0,9}$/': { why: 'in at most 10 characters' },
  'values/ladder/repair-guesses.ts /[,:;，：=>][ \\t\\n]{0,99}$/': { why: 'in at most 100 characters' },
  'values/ladder/repair-guesses.ts /[:\\s]/': { why: 'tested on two characters' },
  'values/ladder/repair-guesses.ts /^["”]\\s{0,9}(?:[,;，.]\\s{0,9}[,;，."]|,[ \\t]{0,9}\\r?\\n)/': {
    why: 'anchored, in at most 24 characters',
  },
  'values/ladder/repair-guesses.ts /^[eE][+-]?\\d+$/': { why: 'one word of at most 256 characters' },
  'values/ladder/repair-syntax.ts /\\n[ \\t]{1,99}$/': { why: 'in at most 100 characters' },
  'values/outcomes.ts /^"[^"\\n]{0,256}"\\s{0,9}:/': { why: 'anchored, in at most 300 characters' },
  'values/outcomes.ts /\\n[ \\t\\r]*\\n/': { why: 'begins at line ends only, in at most 4,096 bytes' },
  'values/outcomes.ts /^json[5c]?[ \\t]*(?=[{[])/i': {
    why: 'an info string of at most 1,024 characters; one class between two others',
  },
  'values/ladder/change.ts /^[ -~]*$/': { why: 'one class, in at most 40 characters' },
  'views/redact-pieces.ts /^[\\da-f]{8}-[\\da-f]{4}-[\\da-f-]{22}$/i': {
    why: 'anchored, in a text of at most 48 characters',
    max: 48,
  },
  'views/redact-pieces.ts /^[a-z_./-]{1,48}$/i': {
    why: 'anchored, in a text of at most 48 characters',
    max: 48,
  },
  'views/redact-pieces.ts /^\\d{4}-\\d\\d-\\d\\dT[\\d:.]{1,16}Z?$/': {
    why: 'anchored, in a text of at most 48 characters',
    max: 48,
  },
}
