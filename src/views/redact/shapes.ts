import { BACKSLASH, CR, classTable, EQUALS, LF, MINUS, PLUS, SLASH } from '../../text/characters.ts'
import { isAfterEscape, isBlank, isWordUnit, type Secret } from './secret.ts'

/** The characters that may follow a prefix, 1 for each: a table, because long words are read. */
type Alphabet = Uint8Array

const alphabet = (characters: string): Alphabet => classTable([1, characters])

const digits = '0123456789'
const capitals = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const letters = capitals + capitals.toLowerCase()
const isDigit = alphabet(digits)
const isHex = alphabet(`${digits}abcdefABCDEF`)
const isUpperDigit = alphabet(capitals + digits)
const isAlnum = alphabet(letters + digits)
const isWord = alphabet(`${letters + digits}-_`)
const isPath = alphabet(`${letters + digits}-_/`)
const isBase64 = alphabet(`${letters + digits}-_+/=`)
/** Characters of a bearer token. */
export const isToken = alphabet(`${letters + digits}-_+/=.~`)
/** Those, and what joins the parts of a key. */
export const isKeyUnit = alphabet(`${letters + digits}-_+/=.~:$%`)

const isUuid = alphabet(`${digits}abcdef-`)
const isDollar = alphabet(`${letters + digits}$`)
const isTeams = alphabet(`${letters + digits}-_/@`)
const isCrypt = alphabet(`${letters + digits}./+=,:$_-`)

/** The format of a well-known kind of secret: a prefix, and what must follow it. */
interface Shape {
  readonly kind: string
  readonly prefix: string
  /** The end of the secret, given the position right after its prefix; -1 if it is not a secret. */
  readonly end: (text: string, at: number) => number
  /** The start of the secret, if that is before its prefix; -1 if it is not a secret. */
  readonly start?: (text: string, at: number) => number
  /** Only at the start of a word: `task-…` contains `sk-`. */
  readonly alone?: true
}

/** From here on a length is only a limit: a longer word still begins with a secret. */
const LONG = 200

/** From `min` to `max` characters of an alphabet, followed by something else. */
function run(table: Alphabet, min: number, max: number) {
  return (text: string, at: number): number => {
    let end = at
    while (end - at <= max && table[text.charCodeAt(end)] === 1) end++
    // `_` beside a key is emphasis, or joins it to another word.
    if (end - at > max) return max < LONG && text[at + max] !== '_' ? -1 : at + max
    return end - at < min ? -1 : end
  }
}

/** The same, unless it is only words: `Bearer authentication-is-required` is not a secret. */
function mixed(table: Alphabet, min: number, max: number) {
  const whole = run(table, min, max)
  return (text: string, at: number): number => {
    const end = whole(text, at)
    for (let i = at; i < end; i++) if (isDigit[text.charCodeAt(i)] === 1) return end
    return -1
  }
}

/** Parts separated by dots. */
function dotted(...parts: readonly (readonly [Alphabet, number, number])[]) {
  const runs = parts.map((part) => run(...part))
  return (text: string, at: number): number => {
    let end = at
    for (const [i, part] of runs.entries()) {
      if (i > 0 && text[end++] !== '.') return -1
      end = part(text, end)
      if (end < 0) return -1
    }
    return end
  }
}

/** From `min` to `max` characters before the prefix. */
function before(table: Alphabet, min: number, max: number) {
  return (text: string, at: number): number => {
    let start = at
    while (start > 0 && at - start < max && table[text.charCodeAt(start - 1)] === 1) start--
    return at - start < min ? -1 : start
  }
}

/** Shapes with a bar between their prefixes. */
const shape = (kind: string, end: Shape['end'], prefixes: string): Shape[] =>
  prefixes.split('|').map((prefix) => ({ kind, prefix, end }))
const alone = (kind: string, end: Shape['end'], prefixes: string): Shape[] =>
  shape(kind, end, prefixes).map((one) => ({ ...one, alone: true }))

/** The tail of a JSON Web Token: two more parts, or four of an encrypted one. The last ones may be empty. */
function jwt(text: string, at: number): number {
  const part = run(isWord, 0, 16_384)
  let end = part(text, at)
  if (end - at < 8) return -1
  let dots = 0
  for (; dots < 4 && text[end] === '.'; dots++) {
    const next = part(text, end + 1)
    if (next < 0 || (dots === 0 && next - end < 9)) return -1
    end = next
  }
  return dots < 2 ? -1 : end
}

/** Letters of one case and digits in no order; the name of a page has words. */
function unordered(text: string, at: number): number {
  const end = run(isAlnum, 20, 80)(text, at)
  return end > 0 && (text.slice(at, end).match(/\d(?=\D)|\D(?=\d)/g)?.length ?? 0) * 5 >= end - at ? end : -1
}

/** `1/<digits>:<hex>` */
function asana(text: string, at: number): number {
  const colon = run(isDigit, 14, 20)(text, at)
  return colon > 0 && text[colon] === ':' ? run(isHex, 32, 32)(text, colon + 1) : -1
}

/**
 * Secrets that can be recognized by their format alone, anywhere. The first match wins, so a longer prefix
 * comes before a shorter one. Those that read more than 400 characters are only looked for at the start of a
 * word: otherwise a word of prefixes would be read again from each of them.
 */
const shapes: readonly Shape[] = [
  ...shape('anthropic', run(isWord, 16, 400), 'sk-ant-'),
  ...shape('openai', run(isWord, 16, 400), 'sk-proj-|sk-svcacct-|sk-admin-|sk-None-'),
  ...shape('openrouter', run(isWord, 16, 200), 'sk-or-'),
  ...shape('langfuse', run(isWord, 16, 100), 'sk-lf-'),
  ...alone('openai', mixed(isWord, 20, 200), 'sk-'),
  ...shape('google', run(isWord, 35, 35), 'AIza'),
  ...alone('google', run(isWord, 20, 2048), 'ya29.'),
  ...shape('google', run(isWord, 20, 60), 'GOCSPX-'),
  ...alone('google', run(isWord, 30, 200), '1//0'),
  ...alone('aws', run(isUpperDigit, 16, 16), 'AKIA|ASIA|ABIA|ACCA'),
  ...alone('aws', run(isBase64, 80, 400), 'ABSK'),
  ...shape('github', run(isAlnum, 30, 255), 'ghp_|gho_|ghu_|ghs_|ghr_'),
  ...shape('github', run(isWord, 22, 255), 'github_pat_'),
  ...shape('gitlab', run(isToken, 20, 300), 'glpat-|gldt-|glrt-|glcbt-|glptt-|glft-'),
  ...shape('gitlab', run(isToken, 20, 300), 'glsoat-|glimt-|glagent-|gloas-|GR1348941'),
  ...shape('gitlab', run(isToken, 20, 300), 'glffct-|glwt-|glrtr-'),
  ...shape('slack', run(isToken, 10, 300), 'xoxa-|xoxb-|xoxc-|xoxd-|xoxe-|xoxe.'),
  ...shape('slack', run(isToken, 10, 300), 'xoxo-|xoxp-|xoxr-|xoxs-|xapp-'),
  ...shape('slack', run(isPath, 20, 200), 'hooks.slack.com/services/|hooks.slack.com/workflows/'),
  ...shape('discord', run(isPath, 40, 200), 'discord.com/api/webhooks/|discordapp.com/api/webhooks/'),
  ...shape('stripe', run(isAlnum, 10, 200), 'sk_live_|sk_test_|rk_live_|rk_test_|sk_prod_'),
  ...shape('webhook', run(isBase64, 20, 100), 'whsec_'),
  ...shape('npm', run(isAlnum, 36, 64), 'npm_'),
  ...alone('pypi', run(isWord, 50, 1000), 'pypi-'),
  ...shape('rubygems', run(isHex, 40, 64), 'rubygems_'),
  ...alone('crates', run(isAlnum, 32, 32), 'cio'),
  ...alone('nuget', run(isAlnum, 43, 43), 'oy2'),
  ...shape('docker', run(isWord, 20, 60), 'dckr_pat_|dckr_oat_'),
  ...alone('mapbox', run(isToken, 60, 400), 'sk.eyJ'),
  ...alone('jwt', jwt, 'eyJ'),
  ...shape('sendgrid', dotted([isWord, 16, 32], [isWord, 16, 64]), 'SG.'),
  ...alone('twilio', run(isHex, 32, 32), 'SK'),
  ...alone('mailgun', run(isHex, 32, 32), 'key-'),
  ...shape('brevo', run(isWord, 40, 100), 'xkeysib-|xsmtpsib-'),
  ...alone('huggingface', run(isAlnum, 30, 60), 'hf_|api_org_'),
  ...alone('replicate', run(isAlnum, 30, 60), 'r8_'),
  ...alone('groq', run(isAlnum, 40, 80), 'gsk_'),
  ...alone('xai', run(isAlnum, 40, 120), 'xai-'),
  ...shape('perplexity', run(isAlnum, 32, 80), 'pplx-'),
  ...shape('nvidia', run(isWord, 40, 120), 'nvapi-'),
  ...alone('databricks', run(isHex, 32, 40), 'dapi'),
  ...shape('digitalocean', run(isHex, 32, 80), 'dop_v1_|doo_v1_|dor_v1_'),
  ...shape('linear', run(isAlnum, 32, 64), 'lin_api_|lin_oauth_'),
  ...alone('notion', run(isAlnum, 40, 60), 'secret_|ntn_'),
  ...shape('postman', run(isWord, 40, 80), 'PMAK-'),
  ...shape('shopify', run(isHex, 32, 40), 'shpat_|shpca_|shppa_|shpss_'),
  ...shape('square', run(isWord, 20, 64), 'sq0atp-|sq0csp-'),
  ...alone('sentry', run(isBase64, 40, 600), 'sntrys_|sntryu_'),
  ...shape('doppler', run(isAlnum, 40, 64), 'dp.pt.|dp.st.|dp.ct.|dp.sa.'),
  ...alone('vault', run(isWord, 20, 200), 'hvs.|hvb.|hvr.'),
  ...shape('planetscale', run(isToken, 20, 64), 'pscale_tkn_|pscale_pw_|pscale_oauth_'),
  ...shape('supabase', run(isWord, 20, 80), 'sbp_|sb_secret_'),
  ...shape('newrelic', run(isAlnum, 20, 64), 'NRAK-|NRII-'),
  ...alone('grafana', run(isBase64, 32, 600), 'glsa_|glc_'),
  ...alone('airtable', dotted([isAlnum, 14, 14], [isHex, 64, 64]), 'pat'),
  ...alone('pulumi', run(isHex, 40, 40), 'pul-'),
  ...shape('figma', run(isWord, 32, 80), 'figd_|figo_'),
  ...shape('atlassian', run(isBase64, 40, 400), 'ATATT3|ATCTT3'),
  ...alone('atlassian', run(isAlnum, 20, 40), 'ATBB'),
  ...alone('fly', run(isBase64, 40, 2000), 'fm2_|fm1r_|fo1_'),
  ...shape('heroku', run(isWord, 36, 80), 'HRKU-'),
  ...shape('vercel', run(isAlnum, 24, 80), 'vcp_|vck_|vca_'),
  ...shape('netlify', run(isAlnum, 32, 64), 'nfp_'),
  ...alone('render', run(isAlnum, 28, 40), 'rnd_'),
  ...shape('langsmith', run(isWord, 32, 100), 'lsv2_pt_|lsv2_sk_'),
  ...shape('tavily', run(isWord, 28, 64), 'tvly-'),
  ...alone('firecrawl', run(isHex, 32, 32), 'fc-'),
  ...alone('jina', run(isAlnum, 40, 80), 'jina_'),
  ...alone('elevenlabs', run(isHex, 40, 64), 'sk_'),
  ...shape('age', run(isWord, 50, 200), 'AGE-SECRET-KEY-|AGE-PLUGIN-'),
  ...alone('onepassword', run(isBase64, 100, 2000), 'ops_eyJ'),
  ...alone('alibaba', run(isAlnum, 16, 24), 'LTAI'),
  ...alone('tencent', run(isAlnum, 32, 32), 'AKID'),
  ...alone('cursor', run(isHex, 64, 64), 'key_'),
  ...shape('plaid', run(isWord, 36, 36), 'access-production-|access-sandbox-|access-development-'),
  ...shape('braintree', run(isDollar, 30, 80), 'access_token$production$|access_token$sandbox$'),
  ...alone('modal', mixed(isAlnum, 22, 22), 'ak-|as-'),
  ...alone('fireworks', mixed(isAlnum, 20, 32), 'fw_'),
  ...alone('dynatrace', dotted([isUpperDigit, 24, 24], [isUpperDigit, 64, 64]), 'dt0c01.|dt0s01.'),
  ...alone('zoho', dotted([isHex, 32, 32], [isHex, 32, 32]), '1000.'),
  ...alone('octopus', mixed(isUpperDigit, 25, 34), 'API-'),
  ...alone('circleci', run(isWord, 40, 80), 'CCIPAT_|CCIPRJ_'),
  ...alone('asana', asana, '1/|2/'),
  ...alone(
    'discord',
    dotted([isAlnum, 21, 26], [isWord, 6, 7], [isWord, 27, 40]),
    'MD|MT|Mj|Mz|ND|NT|Nj|Nz|OD|OT',
  ),
  ...shape('webhook', run(isPath, 10, 200), 'hooks.zapier.com/hooks/catch/'),
  ...shape('webhook', run(isTeams, 60, 300), 'webhook.office.com/webhookb2/|outlook.office.com/webhook/'),
  ...shape('webhook', run(isWord, 16, 100), 'cgi-bin/webhook/send?key=|/bot/v2/hook/'),
  ...shape('webhook', unordered, '/hooks/|/hook/|/webhook/|/webhooks/'),
  // What begins the keys of services whose rest is a UUID, is short, or has one case.
  ...alone('key', run(isUuid, 36, 36), 'sdk-|mob-|api-|waka_|secret-|token-|pat-na1-|pat-eu1-'),
  ...alone('key', mixed(isAlnum, 24, 80), 'nsec1|EXO|FLWSECK-|FLWSECK_TEST-|EZAK|EZTK|AKCp'),
  ...alone('key', run(isAlnum, 14, 80), 'rzp_live_|rzp_test_|tr_prod_|tr_dev_'),
  ...alone('key', run(isHex, 32, 64), 'signkey-prod-|signkey-test-|mlsn.|amzn.oa2-cs.v1.'),
  ...alone('cloudflare', run(isUuid, 171, 171), 'v1.0-'),
  ...shape(
    'password-hash',
    run(isCrypt, 20, 200),
    'SCRAM-SHA-|pbkdf2_sha|$apr1$|$2a$|$2b$|$2y$|$1$|$5$|$6$|$y$',
  ),
  ...shape('password-hash', run(isBase64, 20, 160), '{SHA}|{SSHA}|{SHA256}|{SSHA256}|{SHA512}|{SSHA512}'),
  ...alone('password-hash', run(isHex, 32, 32), 'md5'),
  ...shape('password-hash', run(isCrypt, 40, 300), '$argon2id$|$argon2i$|$pbkdf2-|$scrypt$'),
  // `Q~` is the fourth and fifth character of a client secret of Azure.
  { kind: 'azure', prefix: 'Q~', end: run(isToken, 31, 36), start: before(isToken, 3, 4) },
  { kind: 'telegram', prefix: ':AA', end: run(isWord, 30, 36), start: before(isDigit, 8, 10) },
  { kind: 'google', prefix: ':APA91b', end: run(isWord, 80, 200), start: before(isWord, 7, 30) },
  { kind: 'terraform', prefix: '.atlasv1.', end: run(isWord, 60, 80), start: before(isAlnum, 14, 14) },
  { kind: 'mailchimp', prefix: '-us', end: run(isDigit, 1, 2), start: before(isHex, 32, 32) },
  ...alone('bearer', mixed(isToken, 16, 8192), 'Bearer |bearer |BEARER '),
  ...alone('basic', mixed(isBase64, 12, 2048), 'Basic |basic '),
]

/** Ids, hashes and public keys that look as random as a secret, but are not. */
export const knownIds: readonly string[] = [
  'toolu_|srvtoolu_|call_|msg_|resp_|rs_|fc_|ctc_|ws_|req_|item_|chatcmpl-|gen-|ses_|prt_|run_',
  'thread_|asst_|file-|batch_|tool_|evt_|conv_|sess_|session_|job_|build_|commit_|hash_|trace_',
  'span_|step_|turn_|nonce-|sha1_|sha256_|blob_|tree_|cache_|id_',
  // Public keys.
  'pk_live_|pk_test_|phc_|MFkwEwYH|MIIBIjANB|MIICIjANB|MCowBQYD|MIGfMA0G|xpub|z6Mk|Qm|RWS|RWQ',
  // Images, documents and archives in base64; checksums.
  'iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|H4sIA|sha1-|sha256-|sha384-|sha512-|AAAAB3Nza|AAAAC3Nza',
  'AAAAE2Vj',
].flatMap((some) => some.split('|'))

/** Something that is recognized by the characters it begins with. */
interface Detector<In> {
  readonly prefix: string
  readonly read: (search: In, at: number) => Secret | undefined
}

/** Detectors by the first two characters of their prefixes. */
class Detectors<In extends { readonly text: string }> {
  readonly #byPair = new Map<number, Detector<In>[]>()

  constructor(detectors: readonly Detector<In>[]) {
    for (const detector of detectors) {
      const pair = pairOf(detector.prefix, 0)
      this.#byPair.set(pair, [...(this.#byPair.get(pair) ?? []), detector])
    }
  }

  /** By two characters, which ones can be the third of a prefix, by five bits of each. */
  heads(): Uint32Array {
    const heads = new Uint32Array(128 * 128)
    for (const [pair, some] of this.#byPair)
      for (const { prefix } of some) heads[pair]! |= prefix.length < 3 ? -1 : 1 << (prefix.charCodeAt(2) & 31)
    return heads
  }

  /** What the first detector finds that begins here. */
  at(search: In, at: number): Secret | undefined {
    for (const { prefix, read } of this.#byPair.get(pairOf(search.text, at)) ?? []) {
      const hit = search.text.startsWith(prefix, at) ? read(search, at) : undefined
      if (hit) return hit
    }
    return undefined
  }
}

/** A number for two characters of ASCII. */
function pairOf(text: string, at: number): number {
  return (text.charCodeAt(at) << 7) | text.charCodeAt(at + 1)
}

/** Finds secrets that are recognized by their format and begin, or have their prefix, at a position. */
export const shapeDetectors = new Detectors<{ readonly text: string }>(
  shapes.map((shape) => ({ prefix: shape.prefix, read: ({ text }, at) => shapeAt(shape, text, at) })),
)

const heads = shapeDetectors.heads()

/** Whether a secret can begin with these characters: nearly all text is skipped with one lookup. */
export function mayBegin(first: number, second: number, third: number): boolean {
  return ((heads[((first & 127) << 7) | (second & 127)]! >>> (third & 31)) & 1) === 1
}

function shapeAt({ kind, prefix, start, end, alone }: Shape, text: string, at: number): Secret | undefined {
  const from = start ? start(text, at) : at
  if (from < 0 || (alone && !startsWord(text, at))) return undefined
  const to = end(text, at + prefix.length)
  // `sk_test_xxxxxxxxxxxxxxxxxxxxxxxx`
  if (to < 0 || text.slice(to - 6, to).toLowerCase() === 'xxxxxx') return undefined
  // The scheme of a header stays: it shows what was hidden.
  return prefix.endsWith(' ') ? { kind, from: at + prefix.length, to } : { kind, from, to }
}

/** Whether a word can begin here: also after the letter of an escape such as `\n`, and after `_`. */
function startsWord(text: string, at: number): boolean {
  const unit = text.charCodeAt(at - 1)
  if (at === 0 || unit >= 128 || isWordUnit[unit] !== 1) return true
  return unit === SLASH || unit === PLUS || unit === UNDERSCORE || isAfterEscape(text, at)
}

const UNDERSCORE = 95

/** Maximum characters of a private key; an RSA key of 16,384 bits has 13,000. */
const MAX_KEY_BLOCK = 24 * 1024
const BEGIN = '-----BEGIN '
const END = '-----END '

/** Finds private keys, whole or cut off. */
export function keyBlocks(text: string): (at: number) => Secret | undefined {
  const nextEnd = nextPlace(text, END)
  const nextQuote = nextPlace(text, '"')
  return (at) => {
    if (!text.startsWith(BEGIN, at)) return undefined
    const head = text.slice(at, at + 80)
    const title = head.indexOf('-----', BEGIN.length)
    if (title < 0 || !head.slice(0, title).includes('PRIVATE KEY')) return undefined
    const [end, quote] = [nextEnd(at), nextQuote(at)]
    // No key contains a quote: the end belongs to another text.
    if (end - at < MAX_KEY_BLOCK && end < quote) {
      const tail = text.slice(end, end + 80).indexOf('-----', END.length)
      return { kind: 'private-key', from: at, to: end + (tail < 0 ? END.length : tail + 5) }
    }
    // Its end is missing: hide what looks like its body.
    let to = at + title + 5
    const last = Math.min(text.length, at + MAX_KEY_BLOCK)
    while (to < last && isBodyUnit(text.charCodeAt(to))) to++
    while (text.charCodeAt(to - 1) === BACKSLASH) to--
    return { kind: 'private-key', from: at, to }
  }
}

/** The next occurrence of a word, or infinity; each stretch is searched once. */
function nextPlace(text: string, word: string): (at: number) => number {
  let next = -1
  return (at) => {
    if (next < at) next = text.indexOf(word, at)
    if (next < 0) next = Number.POSITIVE_INFINITY
    return next
  }
}

function isBodyUnit(unit: number): boolean {
  if (unit < 128 && isWordUnit[unit] === 1) return unit !== MINUS
  return unit === LF || unit === CR || unit === BACKSLASH || unit === EQUALS || isBlank(unit)
}

/** Start of a private key in the text whose end has not arrived, or -1. */
export function openKeyBlock(text: string): number {
  const at = text.lastIndexOf(BEGIN)
  if (at < 0 || text.indexOf(END, at) >= 0) return -1
  return text.slice(at, at + 80).includes('PRIVATE KEY') ? at : -1
}
