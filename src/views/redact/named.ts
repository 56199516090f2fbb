import { CLOSE_BRACKET, CLOSE_PAREN, COLON, EQUALS, MINUS, STAR } from '../../text/characters.ts'
import {
  familyOf,
  HASHED,
  isMix,
  isScrambled,
  isSecretValue,
  isStrong,
  type NameFamily,
  roleOf,
} from './names.ts'
import { isLowerKey } from './random.ts'
import {
  backslashesAt,
  endsLine,
  escapeAt,
  isBlank,
  isNameUnit,
  isQuote,
  type Secret,
  startsLine,
} from './secret.ts'
import {
  fillsLine,
  MAX_JUDGED,
  MAX_VALUE,
  type Search,
  type Span,
  secretIn,
  spanAt,
  type ValuePlace,
  valueAt,
} from './value.ts'

/** A name that says secret, where it is in the text. */
export interface Name {
  readonly name: string
  readonly family: NameFamily
  readonly from: number
  readonly to: number
  /** The quote after it, with what escapes it; empty if there is none. */
  readonly quote: string
  /** After its quote, and the brackets that it is in: `env['API_KEY']`. */
  readonly after: number
}

const MAX_NAME = 64

/** Names that are not one word of ASCII. */
const OTHER_NAMES =
  /contrase(?:ñ|\\u00f1|n)as?|[пП]?(?:арол|АРОЛ)[ьяюеиЬ]?|密[码碼]|口令|パスワード|비밀번호|암호|mot de passe|hasło|lösenord(?:et)?|[şŞ]ifre|jelszó|mật khẩu|รหัสผ่าน|पासवर्ड|كلمة المرور|סיסמ[הא]|κωδικ(?:ός|ό)|secret ?id|(?:seed|recovery) phrase|mnemonic(?: phrase)?|(?:verification|recovery|backup|security|2fa|one-time|pin) codes?/iy
const SECRET_ID = /^secret ?id$/i
/** What makes a key a secret one: "my API key is …". */
const KEY_OF =
  /\b(?:api|access|secret|private|signing|encryption|auth|license|master|session|account|pragma|recovery|unseal|backup|write|routing|deploy|service|sdk|activation|product|wi-?fi|network) ?$/i

/** `I used the key X for the test` */
const RANDOM_NEXT = /^ ([A-Za-z\d]{20,64})(?![\w-])/

/** The name around a hint, or only where it ends. */
export function nameAround(text: string, at: number): Name | number {
  let [from, to] = [at, at]
  OTHER_NAMES.lastIndex = at
  const other = OTHER_NAMES.exec(text)
  if (other) to += other[0].length
  else {
    while (to - at < MAX_NAME && isNameUnit(text.charCodeAt(to))) to++
    while (from > 0 && to - from < MAX_NAME && isNameUnit(text.charCodeAt(from - 1))) from--
    // The letter of an escape belongs to the escape.
    from += escapeAt(text, from)
    // A full stop ends the sentence; `password.equals("X")`
    while (to > at && text[to - 1] === '.') to--
    to -= behind(EQUALS_CALL, text, to)?.length ?? 0
  }
  let name = text.slice(from, to)
  let family = familyOf(other ? name.replace(/ /g, '') : name) ?? (other ? 'password' : undefined)
  if (!family && /^keys?$/i.test(name)) {
    const before = KEY_OF.exec(text.slice(Math.max(0, from - 12), from))
    if (before) [name, family, from] = ['apikey', 'secret', from - before[0].length]
  }
  if (!family && /^key$/i.test(name)) {
    const word = RANDOM_NEXT.exec(text.slice(to, to + 80))?.[1]
    if (word !== undefined && isMix(word) && !HEX.test(word)) family = 'secret'
  }
  // Of a connection; elsewhere it is the directory of a shell.
  if (name === 'PWD' && text[from - 1] === ';') family = 'password'
  // `mysqli_connect(` is the name of a call, too.
  if (!family) return text[to] === '(' ? at + 1 : Math.max(to, at + 1)
  let after = to
  // `**Password:** …` is bold.
  while (text.charCodeAt(after) === STAR && after - to < 3) after++
  let quote = ''
  const escapes = backslashesAt(text, after)
  if (isQuote(text.charCodeAt(after + escapes))) {
    quote = text.slice(after, after + escapes + 1)
    after += escapes + 1
  }
  // `char password[64] = "X"`
  if (quote === '') after = Math.max(after, endOf(/\[\d{0,5}\]/y, text, after))
  while (after - to < 20 && isCloser(text.charCodeAt(after)) && opens(text, from)) after++
  return { name, family, from, to, quote, after }
}

function isCloser(unit: number): boolean {
  return unit === CLOSE_BRACKET || unit === CLOSE_PAREN
}

/** Whether a bracket is before a name, or its quote: `env['API_KEY']`, `getenv('API_KEY')`. */
function opens(text: string, from: number): boolean {
  return isAt(OPENER, text, from)
}

const EQUALS_CALL = /(?<=(\.(?:equals\w{0,10}|eql)))/y
const OPENER = /(?<=[[(](?:\\{0,8}["'`]|:)?)/y

/** What is right before a place: the group of a pattern that looks back from there. */
function behind(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[1]
}

// A blank is also one that is written in JSON text: `(?:[ \t]|\\{1,8}t){0,4}`.
/** What a link demands of its value: quotes, quotes and a digit, or quotes and a name without. */
type Demand = 'any' | 'quoted' | 'made' | 'go' | 'word'
/** What is between a name and its value but for `=` and `:`. The value of most is in quotes. */
const links: readonly (readonly [link: RegExp, demand: Demand])[] = [
  // `process.env.API_KEY || 'X'`, `ENV["TOKEN"] ??= 'X'`
  [/(?:[ \t]|\\{1,8}t){0,4}(?:\|\||\?\?|\?:|\/\/|\bor\b)=?(?:[ \t]|\\{1,8}t){0,4}/iy, 'quoted'],
  // `const password: string = "X"`, `let secret: &str = "X"`, `password?: string | undefined = 'X'`
  [
    /\??(?:[ \t]|\\{1,8}t){0,4}:(?:[ \t]|\\{1,8}t){0,4}[&*]?(?:'static )?[\w.:<>[\] |?]{1,60}?(?:[ \t]|\\{1,8}t){0,4}=(?:[ \t]|\\{1,8}t){0,4}/iy,
    'quoted',
  ],
  // `var clientSecret string = "X"`, `Dim password As String = "X"`
  [/(?:[ \t]\*?[\w.]{1,24}){1,2}(?:[ \t]|\\{1,8}t){0,4}=(?:[ \t]|\\{1,8}t){0,4}/iy, 'go'],
  // `| db_password | X |`
  [/["'`*]{0,3}[ \t]{0,40}\|[ \t]{1,4}(?=[^\s|]{6,80}[ \t]{1,40}(?:\||$))/my, 'word'],
  // `a hardcoded password ("X")`
  [/ \((?=\\{0,8}["'])/y, 'made'],
  // `SET PASSWORD FOR 'bob'@'%' = 'X'`
  [/ for \S{1,60} {0,4}= {0,4}(?:password\()?/iy, 'quoted'],
  // `gh secret set API_KEY <<< "X"`
  [/(?: \w{1,20}){0,2}[ \t]{0,4}<<<[ \t]{0,4}/y, 'any'],
  // `public string Password { get; set; } = "X"`
  [/[ \t]{0,4}\{[^{}"'\n\\]{0,60}\}[ \t]{0,4}=[ \t]{0,4}/y, 'quoted'],
  // `password -> X`, `password <- "X"`
  [/(?:[ \t]|\\{1,8}t){0,4}(?:->|→|⇒|<-|：|＝|—|–)(?:[ \t]|\\{1,8}t){0,4}/iy, 'any'],
  // `expect "Password:"; send "X\r"`
  [/:? ?\\{0,8}["'`]\)?(?:[;\s]|\\{1,8}n){1,8}[\w.$]{0,20}send(?:line)?[ (](?:-- )?/iy, 'quoted'],
  // `if (password == "X")`, `password.equals("X")`, `$('#password').type("X")`
  [
    /(?:[ \t]|\\{1,8}t){0,4}(?:[=!]==?|=~|(?:\\{0,8}[\])"'`]){0,3}\.\w{1,30}\()(?:[ \t]|\\{1,8}t){0,4}/iy,
    'made',
  ],
]
/** `"x-api-key", "X"`: the name is in quotes, too. */
const COMMA_LINK = /(?:\]\\{0,8}["'])?(?:[ \t]|\\{1,8}t){0,4},(?:[ \t]|\\{1,8}t){0,4}/iy
/** `setPassword("X")`, `auth=('admin', 'X')`, `'auth' => ['bob', 'X']`, `set_password("svc", "me", "X")`. */
const CALL = /(?:(?:[ \t]|\\{1,8}t){0,4}(?::|=>?)(?:[ \t]|\\{1,8}t){0,4})?[({[](?:[ \t]|\\{1,8}t){0,4}/iy
/** `token = config.token ?? "X"` */
const FALLBACK =
  /(?:[ \t]|\\{1,8}t){0,4}[:=](?:[ \t]|\\{1,8}t){0,4}(?:<%=? ?)?[\w.$!?[\]'"()\\]{1,80}(?:[ \t]|\\{1,8}t){0,4}(?:\|\||\?\?|\bor\b|\?[ \t]{0,2}[\w.$'"]{1,40}[ \t]{0,2}:)(?:[ \t]|\\{1,8}t){0,4}/iy
/** What a literal can be in, or behind: `b'X'`, `@"X"`, `String::from("X")`, `default="X"`, `|_| "X"`. */
const WRAPPED =
  /(?:<%=? ?|<<|[rbufnl]{1,2}|[@$]{1,2}|\|\w{0,9}\| ?|\(\) ?=> ?|(?:default\w{0,9}|with|value) ?(?:=>?|:) ?|(?:\[\])?(?:\w{1,20}(?:::|\.)){0,2}(?:from\w{0,9}|some|string|str|new|bytes?|secret\w{0,9}|ok|field|of|just|literal|\w{0,9}decode|\w{0,9}key(?:spec)?)\((?:default\w{0,9} ?[=:] ?)?)(?=\\{0,8}["'])/iy
//  password for the base of our shop is now X        mot de passe (temporaire) : X
//          ^ after                                                ^ after
/** What can follow a name in a sentence before the word that means "is": what the secret is for. */
const PURPOSE =
  /^(?:(?: \([^()\n]{1,30}\))?(?: ?$| ?:| (?:is|was|has been|now|for|of|to|on|in|at|von|vom|für|der|des|zum|zur|de|du|del|della|dell['’]\S+|per|di|da|do|dos|para|pour|au|för|til|till|av|van|voor|k|ke|pre|od|la|от|для|к|на|у)(?: |$)|(?: (?:re)?set| changed)? ?$)|(?: [а-яё]{2,20}){1,2} ?$|의 )/i
/** Languages with the adjective behind. */
const ADJECTIVE = /^(?: \p{L}{2,20}){1,3} ?$/u
const ENGLISH = /pass(?:w(?:or)?d|phrase|code|key)|secret|token|key|pwd|cred|auth|jwt/i
/** "is" in some languages, or what stands for it. */
const SAYS =
  / (?:is|was|to|from|are|lautet|ist|es|est|é|è|e|jest|är|er|on|je|este|là|це|это|είναι)(?![\p{L}\d])(?: now| set to)?:?(?!\/\/)[ \t]{1,2}\*{0,2}|(?:generated|created|set|reset|changed)(?: (?:for|to) [^\n:"\\]{1,40})?:[ \t]{0,2}\*{0,2}| (?:—|–) | ?(?=[「『„“«])|:(?!\/\/)[ \t]{0,2}\*{0,2}|[는은はが是为為：]{1,2}[ \t]{0,2}/giu
/** Where a sentence ends, or is none. */
const SAID_UNTIL = /[\n\\";,{}<>=|]|[.!?](?= |$)/
const MAX_SAID = 120
/** `password%3DX%26next` */
const ENCODED = /(?:%22)?%3[DA](?:%20)?(?:%22)?/iy
/** `username admin password 0 X` of a router, `ConvertTo-SecureString -String X`. */
const DIGIT_LEVEL = /[ \t]\d[ \t]{1,3}/y
export const LEVEL =
  /[ \t](?:-(?:String|AsPlainText|Force)(?:[ \t]{1,3}-(?:String|AsPlainText|Force)){0,2}|(?:--)?(?:plain|clear)(?:text)?|(?:\/t \w{1,20} )?\/d|ascii-text|hexadecimal|encrypted)[ \t]{1,3}/iy
/** A file in a form: `name="password"`, an empty line, the value. */
const FORM_LINE = /(?:\r?\n|\\{1,8}r\\{1,8}n|\\{1,8}n){2}/y

/** Where a link ends that begins here; -1 if it does not. */
export function endOf(link: RegExp, text: string, at: number): number {
  link.lastIndex = at
  return link.test(text) ? link.lastIndex : -1
}

/** The value that belongs to a name: what is linked to it, or in the field beside it. */
export function namedValue(search: Search, name: Name): Secret | undefined {
  const { text } = search
  const { family, after } = name
  return (
    phrase(search, name) ??
    labelledBy(search, name) ??
    assigned(search, name) ??
    linked(search, name) ??
    spoken(search, name) ??
    inElement(search, name) ??
    (isSpoken(family) || SECRET_ID.test(name.name) ? unlinked(search, name) : undefined) ??
    (text.charCodeAt(after) === PERCENT ? encoded(search, name) : undefined)
  )
}

/** Whether a pattern matches at a place, or looks back from there. */
export function isAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}

/** Whether people say the value behind the name: a key of a map is not talked about. */
function isSpoken(family: NameFamily): boolean {
  return family === 'password' || family === 'secret' || family === 'code'
}

const PERCENT = 37
const AND = 38

/** The words of a wallet, twelve or more; four or more that are no sentence. */
function phrase({ text }: Search, { after, to }: Name): Secret | undefined {
  if (!isAt(OF_WORDS, text, to)) return undefined
  const found = PHRASE.exec(text.slice(after, after + 300))
  if (!found) return undefined
  const from = after + found[0].length - found[1]!.length
  return { kind: 'password', from, to: from + found[1]!.length, certain: true }
}

const OF_WORDS = /(?<=mnemonic|phrase|seed)/iy
const PHRASE = /^[^a-z\n]{2,12}(?!.*(?:for|the|you) )((?:[a-z]{3,10}[ ,]{1,2}){3,23}[a-z]{3,10})(?![\w ,])/

/** A value after `=`, `:`, `:=` or `=>`. */
function assigned(search: Search, name: Name): Secret | undefined {
  const { text } = search
  let at = name.after
  while (isBlank(text.charCodeAt(at)) && at - name.after < MAX_NAME) at++
  if (text.charCodeAt(at) === COLON && text.charCodeAt(at + 1) === EQUALS) at++
  const [unit, next] = [text.charCodeAt(at), text.charCodeAt(at + 1)]
  const isColon = unit === COLON
  // `::` is a path; `==` and `=~` compare.
  if (!isColon && unit !== EQUALS) return undefined
  // `a ? 'secret' : b`
  if (isColon && name.quote !== '' && isAt(CHOICE, text, name.from)) return undefined
  if (isColon ? next === COLON : next === EQUALS || next === TILDE) return undefined
  // `arn:aws:secretsmanager:…:secret:name` is a list.
  if (isColon && text.charCodeAt(name.from - 1) === COLON && !isBlank(next)) return undefined
  // `v-model="password" :rules="[required]"`
  if (isColon && name.quote !== '' && at > name.after && isNameUnit(next)) return undefined
  let from = at + 1
  // `${PASSWORD:?must be set}`, `${PASSWORD:-X}`
  if (isColon && text.endsWith('${', name.from)) {
    if (text[from] === '?' || text[from] === '+') return undefined
    from++
  }
  if (!isColon && text[from] === '>') from++
  while (text.charCodeAt(from) === STAR && from - at < 3) from++
  while (isBlank(text.charCodeAt(from)) && from - at < 24) from++
  // The values of an object of that name: `{"credentials":{"username":"a","value":"X"}}`.
  if (text[from] === '{') return fieldAfter(search, from + 1, name.family, '}')
  // `password: !!str X` in YAML.
  if (isColon) from = Math.max(from, endOf(TAGGED, text, from))
  const wrapped = endOf(WRAPPED, text, from)
  if (wrapped >= 0) return strictValue(search, wrapped, name.family, 'quoted')
  const bracketed = inBrackets(search, from, name.family)
  if (bracketed) return bracketed
  const tight = !isColon && from === at + 1
  // `openssl rsa -passin pass:X`
  const isPass = isColon && from === at + 1 && isAt(PASS_FLAG, text, name.from)
  // "пароль: неверный" is a message: in other languages only what has a digit or a sign counts.
  const isWord = name.name.charCodeAt(0) < 128 && !/[ñ ]/.test(name.name)
  const inQuery = tight && '?&#'.includes(text[name.from - 1] ?? ' ')
  const plain = isPass || (tight && (name.name === name.name.toUpperCase() || inQuery))
  return valueAt(search, from, {
    family: name.family,
    keyQuote: name.quote,
    stop: inQuery ? AND : 0,
    sure: plain ? 'any' : name.name.startsWith('-') ? 'line' : 'code',
    tight,
    // `token = other` is code more often than a setting.
    ...((isColon || tight || name.family === 'password') && isWord && { nameFrom: name.from }),
  })
}

const TILDE = 126
const TAGGED = /!{1,2}[\w:/.-]{1,40}[ \t]{1,4}(?=[^\s|>])/y
const CHOICE = /(?<=\?\s{0,4}["'`])/y
const PASS_FLAG = /(?<=-pass(?:in|out)?[ =])/y

/** Texts of languages that are in no quotes, or in three: Lua, Perl, Ruby, Python, Swift, Erlang, SQL. */
const BRACKETS: readonly (readonly [open: RegExp, close: string])[] = [
  [/\[\[/y, ']]'],
  [/%?q\{/iy, '}'],
  [/%?q\(/iy, ')'],
  [/r?#\\{0,8}"/y, '"#'],
  [/\\{0,8}"\\{0,8}"\\{0,8}"/y, '"'],
  [/'''/y, "'"],
  [/<<\\{0,8}"/y, '"'],
  [/\$\$/y, '$$'],
]

/** A value that has been made up between such signs. */
function inBrackets(search: Search, at: number, family: NameFamily): Secret | undefined {
  const { text } = search
  for (const [open, close] of BRACKETS) {
    const from = endOf(open, text, at)
    const to = from < 0 ? -1 : text.slice(from, from + MAX_JUDGED).indexOf(close)
    if (to < 1 || text.slice(from, from + to).includes('\n')) continue
    let end = from + to
    while (text[end - 1] === '\\') end--
    if (isMade(text.slice(from, end)))
      return secretIn(text, { from, to: end, quoted: true }, { family, sure: 'code' })
  }
  return undefined
}

/** A value behind another link: `||`, a type, `->`, a comma, the bracket of a call. */
function linked(search: Search, { name, family, quote, from, after, to }: Name): Secret | undefined {
  const { text } = search
  const isAfter = after > to
  for (const [link, demand] of links) {
    const at = demand === 'go' && quote !== '' ? -1 : endOf(link, text, after)
    const secret = at < 0 ? undefined : strictValue(search, at, family, demand)
    if (secret) return secret
  }
  const fallback = endOf(FALLBACK, text, after)
  if (fallback >= 0) return strictValue(search, fallback, family, 'quoted')
  if (
    quote !== '' ||
    (name.length > 2 && name === name.toUpperCase()) ||
    text.charCodeAt(after) === CLOSE_BRACKET ||
    text.charCodeAt(after - 1) === CLOSE_BRACKET ||
    text[from - 1] === '{'
  ) {
    const at = endOf(COMMA_LINK, text, after)
    if (at >= 0) return strictValue(search, at, family, 'made')
  }
  const isList = /auth$|cred/i.test(name)
  const call = isAfter && !isList ? -1 : endOf(CALL, text, after)
  return call < 0 || (!isList && /[:[]/.test(text.slice(after, call)))
    ? undefined
    : lastMade(search, call, 0, family)
}

/** A value that counts only if it has a digit or a sign: its place alone says little. */
function strictValue(search: Search, at: number, family: NameFamily, demand: Demand): Secret | undefined {
  const { text } = search
  const wrapped = endOf(WRAPPED, text, at)
  const span = spanAt(search, wrapped < 0 ? at : wrapped)
  if (!span || (demand !== 'any' && demand !== 'word' && !span.quoted)) return undefined
  // Backticks are Markdown, a list of names.
  const isMadeUp =
    text[span.from - 1] !== '`' && isMade(text.slice(span.from, Math.min(span.to, span.from + 200)))
  const isHash = demand === 'word' && HASHED.test(text.slice(span.from, span.from + 10))
  return ((demand === 'made' || demand === 'word') && !isMadeUp) || isHash
    ? undefined
    : secretIn(text, span, { family, sure: 'code', strict: true })
}

//  login("bob", "X")     DriverManager.getConnection(url, "sa", "X")
//  ^ at                                  ^ at
/** The last text that has been made up of those that a call is given which logs in; a name is before it. */
export function loginAt(search: Search, at: number): Secret | undefined {
  const { text } = search
  LOGIN.lastIndex = at
  const call = LOGIN.exec(text)
  if (!call) return undefined
  const from = Math.max(LOGIN.lastIndex, endOf(KEYWORD, text, LOGIN.lastIndex))
  const token = ONLY_TOKEN.exec(text.slice(from, from + MAX_TOKEN))?.[1]
  const first = token !== undefined && isMix(token) ? 0 : 1
  return lastMade(search, from, first, 'password', call[1] !== undefined)
}

const MAX_TOKEN = 220
/** `client.login("X")`: a single argument is not a user. */
const ONLY_TOKEN = /^\\{0,8}["']([\w.-]{20,200})\\{0,8}["']\)/

const LOGIN =
  /(?:(?:log_?in|sign_?in|(?:create|add)_?user|(?<=[._]|basic_?|plain)auth|authenticate|crypt|hmac|jwt\.(?:sign|verify|encode|decode)|(?<=wifi\.)begin|wifi\.begin|(connect(?:ion)?|(?<=new )pdo))\(|(?<=sp_\w{0,20})login |(?<=basic_?)auth (?=['"]))/iy
/** The last argument of a call that is long enough, and has been made up; the first ones do not count. */
function lastMade(
  search: Search,
  at: number,
  first: number,
  family: NameFamily = 'password',
  isConnection = false,
): Secret | undefined {
  const { text } = search
  let found: Secret | undefined
  for (let n = 0, from = at; n < 6; n++) {
    from = Math.max(from, endOf(KEYWORD, text, from))
    const end = endOf(ARGUMENT, text, from)
    if (end < 0) break
    const secret = n < first ? undefined : strictValue(search, from, family, 'made')
    // `"ns3"` is the name of something.
    const length = secret ? secret.to - secret.from : 0
    // The first text of a connection can be its address, the next its user.
    const isSure = !isConnection || n > 1 || (secret && MADE_UP.test(text.slice(secret.from, secret.to)))
    if (secret && isSure && (first === 0 || length >= 8)) found = secret
    from = endOf(NEXT, text, end)
    if (from < 0) break
  }
  return found
}

const NEXT = /(?:[ \t]|\\{1,8}t){0,4},(?:[ \t]|\\{1,8}t){0,4}/iy
const KEYWORD = /\w{1,20}(?:=|: ?)/y
const ARGUMENT =
  /(?:\w{1,20}\()?(?:[rbuf@])?(?:\{[^{}\n]{0,60}\}|\\{0,8}"[^"\\\n]{0,200}\\{0,8}"|\\{0,8}'[^'\\\n]{0,200}\\{0,8}'|[\w.$]{1,60})\)?/iy

//  keyStore.load(in, "X".toCharArray())
//                       ^ at
/** A password of Java: nothing else is made an array of its characters. */
export function charsBefore({ text }: Search, at: number): Secret | undefined {
  const quote = text[at - 1]
  if (quote !== '"') return undefined
  let to = at - 1
  while (text[to - 1] === '\\') to--
  const from = Math.max(text.lastIndexOf('"', to - 1), text.lastIndexOf('\n', to - 1)) + 1
  if (text[from - 1] !== '"' || to - from > 100 || !isMade(text.slice(from, to))) return undefined
  return secretIn(text, { from, to, quoted: true }, { family: 'password', sure: 'any' })
}

//  the password for admin is letmein1
//      ^ from
function spoken(search: Search, { name, family, from, after }: Name): Secret | undefined {
  const { text } = search
  // To pass is a verb, too.
  if (/^pass$/i.test(name) || (name.length < 5 && family === 'secret')) return undefined
  if (!isSpoken(family) || text[from - 1] === ':') return undefined
  const near = text.slice(after, after + MAX_SAID)
  const said = near.slice(0, near.search(SAID_UNTIL) >>> 0)
  // `matchAll` makes the pattern anew for each name, which took longer than all that follows.
  SAYS.lastIndex = 0
  for (let found = SAYS.exec(said); found; found = SAYS.exec(said)) {
    const { index, 0: link } = found
    if (link === '') SAYS.lastIndex++
    const isOther = !ENGLISH.test(name)
    if (!PURPOSE.test(said.slice(0, index)) && !(isOther && ADJECTIVE.test(said.slice(0, index)))) break
    const secret = saidAt(search, after + index + link.length, family, index > 0)
    if (secret) return secret
  }
  return saidBefore(search, from, family) ?? (family === 'password' ? strongIn(said, after) : undefined)
}

//  set the password of bob to `X`      wpa_passphrase home X
//                  ^ at                               ^ at
/** A word in a sentence about a password that can be nothing else. */
function strongIn(said: string, at: number): Secret | undefined {
  for (const { index, 0: word } of said.slice(0, MAX_NEAR).matchAll(/[^\s`'"]{8,64}/g))
    if (isStrong(word))
      return { kind: 'password', from: at + index, to: at + index + word.length, certain: true }
  return undefined
}

const MAX_NEAR = 70

//  X is the new password of root
/** What is said to be one. */
function saidBefore({ text }: Search, from: number, family: NameFamily): Secret | undefined {
  const link = behind(AS, text, from)
  if (link === undefined) return undefined
  const end = from - link.length
  const value = LAST_WORD.exec(text.slice(Math.max(0, end - 65), end))?.[0] ?? ''
  const start = end - value.length
  return isMade(value) && MADE_UP.test(value) && !HASHED.test(value)
    ? secretIn(
        text,
        { from: start, to: start + value.length, quoted: true },
        { family, sure: 'code', strict: true },
      )
    : undefined
}

const MADE_UP = /[!@#$%^&*]|\d-[a-z]|^(?=.*[A-Z])(?=.*[a-z]).*\d/
export const AS =
  /(?<=(["'`]? (?:is|as)(?: (?:the|my|your|our|its|their|a|new|root|admin|temporary|initial|database|db|default)){0,4} ))/iy
const LAST_WORD = /(?<![^\s"'`])[^\s"'`\\/]{8,64}$/

/** The value at the end of a sentence; one that is far from its name has some length. */
function saidAt(search: Search, at: number, family: NameFamily, isFar: boolean): Secret | undefined {
  const { text } = search
  const start = at + (/^[「『„“«‹»]/.test(text.slice(at, at + 1)) ? 1 : 0)
  const span = spanAt(search, start)
  if (!span) return undefined
  // A full stop and emphasis do not belong to it.
  let { to } = span
  const stop = start > at ? /[」』“”»›«]/ : /[，。！；、]/
  to = Math.min(to, start + (text.slice(start, to).search(stop) >>> 0))
  while (!span.quoted && to > span.from && '.!?*。'.includes(text[to - 1]!) && endsHere(text, to)) to--
  to = Math.min(to, span.to)
  const value = text.slice(span.from, Math.min(to, span.from + 200))
  // `base64-encoded` is a word; a limit is "128k".
  const isWord =
    family !== 'code' &&
    !span.quoted &&
    (!isMade(value) || (isFar && (value.length < 6 || HASHED.test(value))))
  return isWord || value.split(' ').length > 6
    ? undefined
    : secretIn(text, { ...span, to }, { family, sure: 'code', strict: text[span.from - 1] === '`' })
}

function endsHere(text: string, at: number): boolean {
  return /[\s"'\\]/.test(text[at] ?? ' ')
}

/** Whether a word has been made up: a digit, a sign, or capitals in no order; not `base64-encoded`. */
export function isMade(value: string): boolean {
  if (/[!@#$%^&*]/.test(value) && /[a-z\d]/i.test(value)) return true
  if (!/[a-z]/i.test(value)) return false
  if (!/\d/.test(value)) return isScrambled(value)
  return !/-[a-z]{2,}$/i.test(value) || (value.match(/\d+/g)?.length ?? 0) > 1
}

//  <password>letmein</password>
//            ^ from ^ to
function inElement(search: Search, { family, from: start, after }: Name): Secret | undefined {
  const { text } = search
  // `Promise<Token>` is a type.
  if (!isAt(TAG, text, start)) return undefined
  return elementText(search, after, family)
}

const TAG = /(?<=((?:^|\W|\\[nrt])<(?:[\w-]{1,30}:)?))/y

function elementText(search: Search, after: number, family: NameFamily): Secret | undefined {
  const { text } = search
  const tag = /^[^<>\n]{0,200}>(?:\s{0,20}<(?:value|string)>)?/i.exec(text.slice(after, after + 230))?.[0]
  if (tag === undefined || tag.endsWith('/>')) return undefined
  let from = after + tag.length
  const isData = text.startsWith(CDATA, from)
  if (isData) from += CDATA.length
  return untilSign(search, from, isData ? ']]>' : '<', family)
}

/** The value from here to a sign. */
function untilSign({ text }: Search, from: number, sign: string, family: NameFamily): Secret | undefined {
  const length = text.slice(from, from + MAX_VALUE).indexOf(sign)
  return length < 1
    ? undefined
    : secretIn(text, { from, to: from + length, quoted: true }, { family, sure: 'any' })
}

const CDATA = '<![CDATA['

/** Words before a name whose value follows without a sign. */
export const SETTING =
  /(?<=((?:^|[^\w]|\\[nt])(?:ENV|ARG|setenv|setx|set -g?x|config(?:ure)? (?:--)?set(?: --\w{1,12})?|define)[ \t]{1,4}(?:\S{1,60}\/:)?))/iy
export const NETRC = /(?<=(\blogin\s{1,9}\S{1,99}(?:\\[nrt]|[^A-Za-z]){1,40}))/y
const FLAG = /(?<=(?:^|[\s"'`(,[])-{1,2})/y
/** `docker run -e DB_PASSWORD postgres:16` gives the variable that is set already. */
const PASSED_ON = /(?<=-(?:e|-env|-build-arg) )/y
/** Names that are the word itself. */
const WORD =
  /^(?:(?:set|change|reset|insecure)-(?:\w{1,12}-)?password|password|passphrase|passwd|passcode|pwd|psk|(?:\w{1,9}_)?pw|bindpw|rootpw)$/i

//  storePassword "X"     --password X     ENV TOKEN X     login me password X     secret 0 X
//  ^ from                  ^ from             ^ from               ^ from         ^ from
/** A value after a blank. */
function unlinked(search: Search, name: Name): Secret | undefined {
  const { text } = search
  const { family, from, after, quote } = name
  const below = endOf(LINE_BELOW, text, after)
  if (below >= 0) return lineBelow(search, below, family)
  const form = quote === '' ? -1 : endOf(FORM_LINE, text, after)
  if (form >= 0) return valueAt(search, form, { family, sure: 'any' })
  // `PIN 4711`; a pin has a number, too.
  const code = family === 'code' && /[A-Z]{3}| |s$/.test(name.name) ? endOf(NEXT_CODE, text, after) : -1
  if (code >= 0 || family === 'code')
    return code < 0 ? undefined : valueAt(search, code, { family, sure: 'any' })
  const at = endOf(BLANKS, text, after)
  if (at < 0) return undefined
  // `service-account-token 3 14d` is a table.
  const digit = name.name.length < 12 ? endOf(DIGIT_LEVEL, text, after) : -1
  const level = digit < 0 ? endOf(LEVEL, text, after) : digit
  if (level >= 0) return valueAt(search, level, { family, sure: 'any' })
  const span = spanAt(search, at)
  // `login -u token --password-stdin`
  if (!span || text.startsWith('--', span.from) || isAt(PASSED_ON, text, from)) return undefined
  const dashed = text.charCodeAt(from) === MINUS || isAt(FLAG, text, from)
  if (dashed && text[from] !== '.') return secretIn(text, span, { family, sure: 'line' })
  const value = text.slice(span.from, Math.min(span.to, span.from + 200))
  // `requirepass X`, `masterauth X`
  const isLine =
    startsLine(text, from) &&
    fillsLine(text, from, span.to) &&
    (/^require_?pass$/i.test(name.name) || (isMade(value) && !HASHED.test(value)))
  if (isLine || isAt(SETTING, text, from) || isAt(NETRC, text, from))
    return secretIn(text, span, { family, sure: 'any' })
  // Backticks are Markdown: "a process identified by `pid`".
  const isMarkdown = text[span.from - 1] === '`'
  if (span.quoted && !isMarkdown)
    return secretIn(text, span, { family, sure: 'code', strict: !WORD.test(name.name) })
  // `password letmein1` in a sentence, `VAULT_TOKEN s.…`, `use token 0123…`
  const isLoud = name.name === name.name.toUpperCase() && name.name.includes('_')
  return (!span.quoted || (isMarkdown && quote === '')) &&
    (isLoud ||
      WORD.test(name.name) ||
      (family === 'password' && name.name.length > 5) ||
      name.name.charCodeAt(0) > 127 ||
      (value.length >= 20 && (isMix(value) || HEX.test(value) || isLowerKey(value)))) &&
    value.length >= 8 &&
    isMade(value) &&
    !HASHED.test(value)
    ? secretIn(text, span, { family, sure: 'code', strict: true })
    : undefined
}

//  Recovery codes:           "recovery_codes": ["a1b2c-d3e4f", "b1c2d-e3f4a"]
//  1. a1b2c-d3e4f
/** What is before a code, and between two. */
const NEXT_CODE = /\\{0,8}["']?(?:,? |: ?\[ ?|:? ?(?:\r?\n|\\{1,8}n){1,2}[ \t]{0,8}(?:[-*•] |\d{1,2}[.)] )?)/y
const BLANKS = /(?:[ \t]|\\{1,8}t){1,24}/y

/** `password: |`, and the value below it. */
const LINE_BELOW = /\\{0,8}["']?:[ \t]{0,4}(?:[|>][-+]?)?(?:\r?\n|\\{1,8}n){1,2}[ \t]{1,20}/y

function lineBelow(search: Search, at: number, family: NameFamily): Secret | undefined {
  const { text } = search
  const span = spanAt(search, at)
  const isAlone = span !== undefined && (span.quoted || endsLine(text, span.to))
  return isAlone && isMade(text.slice(span.from, span.to))
    ? secretIn(text, span, { family, sure: 'code' })
    : undefined
}

const HEX = /^[\da-f]{32,128}$|^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

//  password%3DX%26next%3D1
//          ^ after
function encoded(search: Search, { family, after }: Name): Secret | undefined {
  const at = endOf(ENCODED, search.text, after)
  if (at < 0) return undefined
  const value = /^(?:[^\s"'`&%\\]|%(?!26|22|3B|20|0A|0D)[\dA-F]{2}){1,400}/i.exec(
    search.text.slice(at, at + 400),
  )
  return value
    ? secretIn(search.text, { from: at, to: at + value[0].length, quoted: false }, { family, sure: 'any' })
    : undefined
}

/** Maximum characters between a name and its value in another field. */
const MAX_APART = 200
/** `name: ` and the like, before a name that is itself a value. */
export const LABEL =
  /(?<=((?:(?:^|[^\w-]|\\[nt])(name|key|type|variable|env_?var|header)\\{0,8}["']?[ \t]{0,4}(?::|=>?)[ \t]{0,4}|(?:^|\W|\\[nt])(variable)[ \t]|<(name|key)>|(--?name)[ =][\w./-]{0,24})\\{0,8}["']?))/iy
const FIELD =
  /(?:(?:^|[^\w-]|\\[nt])(?:value|default|default_?value|string_?value)(\\{0,8}["']?)[ \t]{0,4}(?::|=>?)[ \t]{0,4}|<(?:value|string)>|--?(?:value|body|plaintext)[ =])/i

//  - name: DB_PASSWORD        <input value="…" name="password">
//          ^ from                                   ^ from
/** The value in the field beside a label, if the name is what the label says. */
function labelledBy(search: Search, name: Name): Secret | undefined {
  const { text } = search
  const { family, from, after } = name
  const given = behind(FOR_KEY, text, from)
  if (given !== undefined) return textBefore(search, from - given.length, family, given.includes(')'))
  const cell = endOf(NEXT_CELL, text, after)
  if (cell >= 0) return labelledText(search, cell, family)
  if (endOf(SETS, text, from) >= 0) return fieldAfter(search, after, 'secret', '>')
  LABEL.lastIndex = from
  const [, label, word, , element] = LABEL.exec(text) ?? []
  if (label === undefined || (word?.toLowerCase() === 'type' && family !== 'password')) return undefined
  const start = from - label.length
  const isTag = label.includes('=') || element !== undefined
  return (
    fieldAfter(search, after, family, isTag && element === undefined ? '>' : '}') ??
    fieldBefore(search, start, family) ??
    (isTag ? labelledText(search, after, family) : undefined)
  )
}

//  set("X", forKey: "password")
//        ^ to
/** The text in quotes that ends here. */
function textBefore({ text }: Search, to: number, family: NameFamily, isDefault: boolean) {
  const before = /(.{0,30})["']([^"'\\\n]{4,200})$/.exec(text.slice(Math.max(0, to - 235), to))
  if (!before || !isMade(before[2]!) || (isDefault && !DEFAULT.test(before[1]!))) return undefined
  const span = { from: to - before[2]!.length, to, quoted: true }
  return secretIn(text, span, { family, sure: 'any' })
}

/** `#[serde(default = "X")] password: String` */
const DEFAULT = /(?:default\w{0,9} ?[=(]|@value\() ?\\{0,8}$/i

export const FOR_KEY =
  /(?<=(\\{0,8}["'](?:(?:,? | ?, ?)(?:forKey|for|as|key|named?|account): ?@?\\{0,8}["']| --name[ =](?:\\{0,8}["'])?|\)\]?(?:\s|\\{1,8}n){1,9}(?:(?:pub|private|public|protected|static|final|var|val|let|string) ){0,4})))/iy

/** `<td>Password</td><td>X</td>` */
const NEXT_CELL = /<\/\w{1,10}>\s{0,20}<\w{1,10}[^<>\n]{0,80}(?=>)/y

/** `gh secret set DEPLOY_KEY --body X` */
const SETS = /secrets? (?:set|create|put|add|update)\b/iy

/** `<string name="api_key">X</string>`; a word there is a label more often than a value. */
function labelledText(search: Search, after: number, family: NameFamily): Secret | undefined {
  const secret = elementText(search, after, family)
  return secret && isMade(search.text.slice(secret.from, secret.to)) ? secret : undefined
}

/** `secret = "X" -> "X"`: what a plan changes it to; the other codes of a list. */
export function changedTo(search: Search, { to }: Secret, { family, name }: Name): Secret[] {
  const { text } = search
  const isCode = family === 'code' && /s$/i.test(name)
  const secrets: Secret[] = []
  for (let end = to; ; ) {
    const isSaid = !isCode && ' .!'.includes(text[end] ?? 'x')
    const at =
      isSaid && !FROM.test(text.slice(Math.max(0, end - 70), end))
        ? -1
        : endOf(isCode ? NEXT_CODE : CHANGE, text, end)
    const secret = at < 0 ? undefined : valueAt(search, at, { family, sure: 'code' })
    if (!secret) return secrets
    secrets.push(secret)
    end = secret.to
  }
}

const FROM = / from ['"`]?\S{1,60}$/
const CHANGE = /\\{0,8}["'] -> (?=\\{0,8}["'])|[.!]? to (?=\S{6})/y

/** The value of a field such as `value` that follows, in the same object or tag. */
function fieldAfter(search: Search, at: number, family: NameFamily, until: '}' | '>'): Secret | undefined {
  const { text } = search
  const near = text.slice(at, at + MAX_APART)
  const field = FIELD.exec(near)
  if (!field || near.slice(0, field.index).includes(until)) return undefined
  // Another name is between them.
  if (/(?:^|[^\w-])name\\{0,8}["']?[ \t]{0,4}[:=]/i.test(near.slice(0, field.index)) && until === '}')
    return undefined
  return fieldValue(search, at + field.index + field[0].length, family, field)
}

function fieldValue(
  search: Search,
  at: number,
  family: NameFamily,
  field: RegExpExecArray,
): Secret | undefined {
  const isElement = field[0].endsWith('>') && !field[0].endsWith('=>')
  return isElement
    ? untilSign(search, at, '<', family)
    : valueAt(search, at, { family, keyQuote: quoteIn(field), sure: 'any' })
}

function quoteIn(field: RegExpExecArray): string {
  return field[1] ?? ''
}

/** The same, of a field that is before the name. */
function fieldBefore(search: Search, start: number, family: NameFamily): Secret | undefined {
  const { text } = search
  const near = text.slice(Math.max(0, start - MAX_APART), start + 1)
  let last: RegExpExecArray | undefined
  let place = 0
  for (let from = 0; ; ) {
    const field = FIELD.exec(near.slice(from))
    if (!field) break
    last = field
    place = from + field.index + field[0].length
    from = place
  }
  if (!last) return undefined
  const span = spanAt(search, start + 1 - near.length + place, quoteIn(last))
  if (!span || span.to > start + 1 || /[{}<>]|- /.test(text.slice(span.to, start + 1))) return undefined
  return secretIn(text, span, { family, sure: 'any' })
}

/** Maximum characters of an address before its host. */
const MAX_AUTHORITY = 400
const AUTHORITY = /^[^\u0000- /"'`\\<>]*/

//  postgres://name:password@host/…      https://token@host/…
//          ^ at
export function addressAt({ text }: Search, at: number): Secret | undefined {
  const from = at + 3
  const [authority] = AUTHORITY.exec(text.slice(from, from + MAX_AUTHORITY))!
  return inAuthority(authority, from, ':', '@')
}

//  name:password@tcp(host:3306)/base
//               ^ at
/** An address of Go, which begins with the name. */
export function addressBefore({ text }: Search, at: number): Secret | undefined {
  const before = /[\w.-]{1,60}:[^\s"'`\\<>/]{1,200}$/.exec(text.slice(Math.max(0, at - 260), at))
  return before ? inAuthority(`${before[0]}@`, at - before[0].length, ':', '@') : undefined
}

//  postgres%3A%2F%2Fname%3Apassword%40host
//          ^ at
export function encodedAddressAt({ text }: Search, at: number): Secret | undefined {
  if (!/^%3A%2F%2F/i.test(text.slice(at, at + 9))) return undefined
  const from = at + 9
  const [authority] = AUTHORITY.exec(text.slice(from, from + MAX_AUTHORITY))!
  const end = authority.search(/%40/i)
  return end < 0
    ? undefined
    : inAuthority(`${authority.slice(0, end).replace(/%3A/gi, '%3:')}@`, from, '%3:', '@')
}

function inAuthority(authority: string, from: number, sign: string, end: string): Secret | undefined {
  const [colon, host] = [authority.indexOf(sign), authority.lastIndexOf(end)]
  if (host < 0) return undefined
  const isNamed = colon >= 0 && colon < host - sign.length
  // Tokens are used as user names, too.
  const isToken = isNamed && /^(?=.*\d)[\w-]{20,}$/.test(authority.slice(0, colon))
  const [start, to] = isNamed
    ? [isToken ? 0 : colon + sign.length, host]
    : [0, colon >= 0 && colon < host ? colon : host]
  const value = authority.slice(start, to)
  // `postgres:postgres@`: of a database that nobody else can reach.
  if (isNamed && !isToken && value === authority.slice(0, colon) && /^[a-z]*$/.test(value)) return undefined
  if (!isNamed && (value.length < 16 || !/\d/.test(value))) return undefined
  const family = isNamed ? 'password' : 'secret'
  return isSecretValue(value, { family, quoted: true, sure: 'any' })
    ? { kind: 'url', from: from + start, to: from + to, certain: true }
    : undefined
}

//  db.example.com:5432:app:admin:letmein
//                ^ at
/** A line of .pgpass: host, port, database, user and password. */
export function pgpassAt(search: Search, at: number): Secret | undefined {
  const { text } = search
  PGPASS.lastIndex = at
  const [fields] = PGPASS.exec(text) ?? []
  if (!fields) return undefined
  let host = at
  while (at - host < 253 && (isNameUnit(text.charCodeAt(host - 1)) || text[host - 1] === '*')) host--
  host += escapeAt(text, host)
  const span = /[a-z*.]/i.test(text.slice(host, at))
    ? spanAt(search, at + fields.length, '', true)
    : undefined
  return span && fillsLine(text, host, span.to)
    ? secretIn(text, span, { family: 'password', sure: 'any' })
    : undefined
}

/** A database is not a number, as in `file:line:column:`; a fingerprint goes on with pairs. */
const PGPASS = /:(?:\d{2,5}|\*):(?:[A-Za-z_][\w.-]{0,62}|\*):[\w.@*-]{1,63}:(?!\w\w:)/y

//  INSERT INTO users (name, password) VALUES ('a', 'X')
//                           ^ from
/** The values of a column with that name. */
export function insertedAt(search: Search, { from, to, family }: Name): Secret[] {
  const { text } = search
  const before = text.slice(Math.max(0, from - 300), from)
  const list = before.slice(before.lastIndexOf('(') + 1)
  const rest = /^[`"\\]{0,9}(?:,[^()]{0,300})?\)\s{0,9}(?:\\n|\\t){0,4}values\s{0,9}/i.exec(
    text.slice(to, to + 400),
  )
  if (!rest || !/^[\w\s,`"[\]\\]{0,300}$/.test(list)) return []
  const column = list.split(',').length - 1
  const found: Secret[] = []
  for (let at = to + rest[0].length; text[at] === '(' && found.length < 100; ) {
    const tuple = tupleAt(text, at)
    if (!tuple) break
    const [start, end] = tuple.items[column] ?? [0, 0]
    const value = text.slice(start, end)
    const from = start + value.length - value.trimStart().length + 1
    const length = value.trim().length - 2
    if (value.trimStart().startsWith("'") && length > 0) {
      const span: Span = { from, to: from + length, quoted: true }
      const secret = secretIn(text, span, { family, sure: 'any' } satisfies ValuePlace)
      if (secret) found.push(secret)
    }
    at = tuple.end
    at += /^\s{0,9},?\s{0,9}/.exec(text.slice(at, at + 20))![0].length
  }
  return found
}

const MAX_TUPLE = 4000

/** The values between two brackets, with the places of each; a quote in a text is doubled or escaped. */
function tupleAt(
  text: string,
  open: number,
): { items: [from: number, to: number][]; end: number } | undefined {
  const items: [from: number, to: number][] = []
  let from = open + 1
  let quoted = false
  for (let at = from; at < text.length && at < open + MAX_TUPLE; at++) {
    const unit = text[at]
    if (unit === '\\') at++
    else if (unit === "'") quoted = !quoted
    else if (quoted) continue
    else if (unit === '(') return undefined
    else if (unit === ',' || unit === ')') {
      items.push([from, at])
      from = at + 1
      if (unit === ')') return { items, end: from }
    }
  }
  return undefined
}

/** The label in an object whose value is in another field. */
export function isLabelName(value: string, key: string): boolean {
  const role = value.length > MAX_NAME ? undefined : roleOf(value)
  const isFamily = role !== undefined && role !== 'label' && role !== 'field'
  // `type: token` is a kind of many things.
  return isFamily && (key !== 'type' || role === 'password')
}
