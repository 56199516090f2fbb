/** What a name says about its value; a `key` may be that of a map. */
export type NameFamily = 'password' | 'secret' | 'key' | 'code' | 'authorization' | 'cookie'
/** Or that its value is a name, and which field beside it has the value of that. */
export type NameRole = NameFamily | 'label' | 'field'

const passwords = wordsOf(
  'assword passwd passphrase passcode passkey pwd passwort kennwort wachtwoord contrasena senha haslo',
  'motdepasse storepass keypass requirepass psk bindpw rootpw clavesecreta parola salasana adgangskode adgangskoden passord passordet',
  'heslo geslo jelszo lozinka mdp',
)
const secrets = wordsOf(
  'secret token apikey accesskey secretkey privatekey signingkey encryptionkey masterkey accountkey',
  'presharedkey authkey servicekey rolekey sessionkey deploykey licensekey credential credentials creds keymaterial',
  'connectionstring jwt xamzsignature xgoogsignature privatekeyid secretkeybase securestring privatemac',
  'clientkeydata masterauth cookieparser sonarlogin',
)
/** `{"name": "DB_PASSWORD", "value": "…"}`, `<input type="password" value="…">` */
const labels = new Set(['name', 'key', 'type', 'variable', 'envvar', 'header'])
const fields = new Set(['value', 'default', 'defaultvalue', 'stringvalue'])
/** Keys that are secret in some programs only: a value of theirs counts if it is mixed. */
const OTHER_KEY =
  /(?:app|application|client|consumer|storage|admin|shared|hmac|aes|cipher|crypto|ssh|validation|decryption|machine|jwt|instrumentation|tacacs|webhook|integration|routing|subscription|ingest|server|bot|maps)key$|secretid$|pass\w{0,8}(?:hash|digest|sha\d{1,3}(?:hex)?|md5)$|^secrets$/
/** Codes of digits: `PIN`, `otp`, `recovery_code`. */
const CODE =
  /^(?:(?:user|card|sim)?pin|(?:sms)?otp)(?:code)?$|(?:[2m]fa|factor|verification|recovery|backup|security|onetime)codes?$/
/** What says which one it is: `password_confirmation`, `secretString`, `DB_PASSWORD_PROD`. */
const QUALIFIER =
  /[_.-]?(?:confirm(?:ation)?|again|repeat|string|value|plain(?:text)?|prod(?:uction)?|stag(?:e|ing)|dev|test|old|new|current|prev(?:ious)?|default)$/i
/** Complete names. `sig` is the signature in an address of Azure, `_auth` a line of .npmrc. */
const wholeSecrets = new Set(['auth', 'sig', 'bearer', 'oauth2bearer', 'basicauth', 'httpbasicauth'])

/**
 * Whether a name is that of a secret: `DB_PASSWORD`, `apiKey`, `x-api-key`, `aws_secret_access_key`,
 * `STRIPE_KEY`, `Authorization`, `Set-Cookie`. At most 64 characters are read.
 */
export function familyOf(name: string): NameFamily | undefined {
  const role = roleOf(name)
  return role === 'label' || role === 'field' ? undefined : role
}

/** The same, and whether the name and the value of something are in two fields. */
export function roleOf(name: string): NameRole | undefined {
  if (name.length < 2 || name.length > 64) return undefined
  const known = roles.get(name)
  if (known !== undefined) return known || undefined
  const role = judge(name)
  if (roles.size >= MAX_ROLES) roles.clear()
  roles.set(name, role ?? '')
  return role
}

/** A cache: the names in a log repeat. */
const roles = new Map<string, NameRole | ''>()
const MAX_ROLES = 2000

function judge(given: string): NameRole | undefined {
  const role = roleIn(given)
  const name = role ? given : given.replace(QUALIFIER, '')
  return name === given ? role : roleIn(name)
}

function roleIn(name: string): NameRole | undefined {
  // The directory of a shell.
  if (name === 'PWD' || name === 'OLDPWD') return undefined
  const plain = plainName(name)
  // The name of one: `existingSecret: my-release-postgresql`.
  if (/existing(?:secret|token|password)?$|^public|jsonwebtoken$/.test(plain)) return undefined
  // A choice: `withCredentials: true`, `--no-password`.
  if (/^(?:with|use|has|include)credentials$|^no(?:password|token|secret)$/.test(plain)) return undefined
  if (labels.has(plain)) return 'label'
  if (fields.has(plain)) return 'field'
  if (plain === 'clave' || passwords.some((end) => plain.endsWith(end)) || isPass(name)) return 'password'
  if (plain.endsWith('authorization')) return 'authorization'
  if (plain.endsWith('cookie') || plain === 'cookies') return 'cookie'
  if (wholeSecrets.has(plain) || secrets.some((end) => plain.endsWith(end))) return 'secret'
  // Of an address that is signed; a signature elsewhere is not a secret.
  if (name === 'Signature' || OTHER_KEY.test(plain)) return 'key'
  if (/(?:^|[._-])(?:pat|auth|bearer|pepper)$/i.test(name)) return 'key'
  if (CODE.test(plain)) return 'code'
  return name.endsWith('_KEY') && name === name.toUpperCase() && !name.includes('PUBLIC') ? 'key' : undefined
}

/** Without separators, and without a number at the end: `TOKEN_2`. */
function plainName(name: string): string {
  return name
    .replace(/[_.-]/g, '')
    .replace(/\d{1,2}$/, '')
    .toLowerCase()
}

/** `pass`, `DB_PASS`, `dbPass`, `admin_pw`, but not `bypass`. */
function isPass(name: string): boolean {
  return (
    /(?:^|[_.-]|db|user|admin|root|smtp|mail|ftp|pg)(?:pass|pw)$/i.test(name) ||
    /[a-z](?:Pass|P[wW])$|^[A-Z]+PASS$/.test(name)
  )
}

/** Names of values that are random but not secret: ids, hashes, signatures, and data. */
const opaque = wordsOf('id ids uuid hash digest integrity checksum sha etag cursor')
/** Complete ones; `secure` is what only Travis can read, the last are of a public key. */
const opaqueWhole = wordsOf(
  'data certificateauthoritydata clientcertificatedata signature thoughtsignature encryptedcontent fingerprint nonce',
  'publickey boundary secure n x y sitekey datasitekey',
)

/** Whether values of this name look random and are not secret. */
export function isOpaqueName(name: string): boolean {
  if (name.length > 64) return false
  const plain = plainName(name)
  if (opaqueWhole.includes(plain)) return true
  return (
    opaque.some((end) => plain === end || name.endsWith(`_${end}`) || name.endsWith(`-${end}`)) ||
    name.endsWith('Id') ||
    name.endsWith('ID')
  )
}

/** Words that stand for a value: types, hints of a form, states, ways to log in, algorithms. */
const noValues = new Set(
  wordsOf(
    'string number boolean object array any unknown undefined null none nil true false str int bytes self',
    'this void required optional missing invalid redacted hidden masked changeme password secret token',
    'example placeholder yes no on off set unset empty default auto enabled disabled present absent valid',
    'expired include omit same-origin bearer basic digest oauth oauth2 apikey api_key api-key env prompt ask',
    'value key name text input header query cookie sha1 sha256 sha512 md5 base64 hex hs256 rs256 es256 argon2',
    'utf8 ed25519 rsa uuid jwt read write const let var function return pass passed fail failed',
  ),
)
/** Words that go on with a sentence: `use --token to log in`. */
const sentenceWords = new Set(
  wordsOf(
    'to and or is are was has flag option argument with for in as if of when from can must should will not the',
    'a an on via instead',
  ),
)

function wordsOf(...lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.split(' '))
}

/**
 * What kind of text the value is in. Any word is a value in quotes, in an environment file, in a cell; on a
 * line of its own, except names of types and members; in code and sentences, only what has a digit or a sign.
 */
export type Sureness = 'any' | 'line' | 'code'

/** How the value was found. */
interface Assigned {
  readonly family: NameFamily
  readonly quoted: boolean
  readonly sure: Sureness
}

/** Whether the value can be a secret: not a type, a placeholder or code. */
export function isSecretValue(value: string, { family, quoted, sure }: Assigned): boolean {
  if (isPlaceholder(value)) return false
  const { digits, letters, capitals, blanks, others, calls } = countIn(value)
  if (digits + letters === 0 && value.charCodeAt(0) < 128) return false
  if (!quoted && (calls || ('<{['.includes(value[0]!) && !/^\{[A-Z\d-]{2,12}\}/.test(value)))) return false
  if (family === 'authorization') return true
  if (family === 'cookie') return SESSION.test(value)
  if (family === 'code') return isCode(value)
  const isPassword = family === 'password'
  // `--secret=db-password` is the name of one.
  if (!isPassword && /^[a-z]+(?:-[a-z]+){1,4}$/.test(value) && familyOf(value) !== undefined) return false
  if (blanks > (isPassword ? 6 : 0)) return quoted && isSalt(value, digits)
  if (blanks > 0 && isSentence(value)) return false
  if (!quoted && ((letters === 0 && value.length < 4) || /^0x[\da-f]{1,8}$/i.test(value))) return false
  if (sure === 'any' && family !== 'key') return quoted || isPassword || letters > 0
  if (sentenceWords.has(value) || isTypeName(value)) return false
  // A bare number is a count more often than a token.
  if (!isPassword && letters === 0) return false
  if (sure === 'line' && family !== 'key')
    return (
      (isPassword || value.length > 5) && !(value.includes('.') && isAccess(value)) && !value.startsWith('-')
    )
  // What is in quotes reads no member.
  const reads = !quoted && isAccess(value)
  if (isPassword)
    return (
      (digits > 0 || (others > 0 && !/^\p{L}+[.?]$/u.test(value)) || isScrambled(value)) &&
      (letters > 0 || value.length >= 6) &&
      !reads
    )
  if (value.length < 8 || (value.length < 24 && HASHED.test(value))) return false
  const isMixed =
    digits > 0 || isScrambled(value) || (capitals > 2 && capitals < letters - 2 && value.length >= 16)
  return isMixed && (sure === 'any' || !reads)
}

/** The name of an algorithm or of an encoding, an address or a version. */
export const HASHED = /^(?:sha|md5|pbkdf|bcrypt|scrypt|argon|http|utf|base64|v?\d+\.)/i

/** `4711`, `123-456`, `a1b2c-d3e4f`; a port of a chip is shorter. */
function isCode(value: string): boolean {
  return /^(?=.*\d)(?:\d{4,10}|\d{3} \d{3}|[a-z\d]{3,8}(?:-[a-z\d]{3,8}){1,5}|[a-z\d]{8,16})$/i.test(value)
}

/** A cookie that lets somebody in: by its name, or because it is long and mixed. */
const SESSION =
  /(?:sess|sid|token|auth|jwt|csrf|xsrf|login|remember)[^=;\s]{0,40}=[^;\s]{4,}|=(?=[^;\s\d]{0,99}\d)(?=[^;\sa-z]{0,99}[a-z])[^;\s]{16,}/i

/** `define('AUTH_KEY', '…')` of WordPress has blanks, among signs of all kinds. */
function isSalt(value: string, digits: number): boolean {
  if (value.length < 40 || digits < 4) return false
  return value.split(/\s/).length * 20 < value.length || new Set(value.match(/[^\p{L}\d\s.,]/gu)).size > 2
}

/** A label or a message about passwords, not one. */
function isSentence(value: string): boolean {
  return /[.?!:…]$|\b(?:pass|must|your|please|enter|forg[eo]t|reset|invalid|incorrect|wrong)/i.test(value)
}

/** `AuthToken`, `String`, `TOKEN`, `Uint8Array`, `Read-Host`: a capital and letters. */
function isTypeName(value: string): boolean {
  if (isScrambled(value)) return false
  const start = value.slice(0, 101)
  // Each capital begins a word: `TDItmdFWYu` is none.
  return /^(?:[A-Z]{1,4}[a-z]{2,}_?){1,9}[A-Z]{0,3}$|^[A-Z_]+$|^[A-Z][A-Za-z]{2,20}-[A-Z][A-Za-z]{2,30}$|^[A-Z][a-z]{1,20}\d{1,3}(?:[A-Z][a-z]{2,20}){1,4}$/.test(
    start,
  )
}

function countIn(value: string) {
  const count = (units: RegExp) => value.match(units)?.length ?? 0
  const [digits, letters, blanks] = [count(/\d/g), count(/\p{L}/gu), count(/[ \t]/g)]
  const others = value.length - digits - letters - blanks
  // `getToken(2)`, `tokens[0]`, `Box<Token>`
  return { digits, letters, capitals: count(/[A-Z]/g), blanks, others, calls: /[([<]/.test(value) }
}

/** `config.token2`, `self.password1`, `authToken`: names with dots between them, or one without a digit. */
function isAccess(value: string): boolean {
  if (!/^[\w.:]*$/.test(value) || value.endsWith('.')) return false
  if (value.includes('.')) return !isMix(value) && value.split(/[.:]/).every((part) => NAME_PART.test(part))
  return !/\d/.test(value) && !isScrambled(value)
}

/** `token2`, `k8s`, `authToken`, `AuthToken`, `TOKEN`, and between two colons nothing. */
const NAME_PART = /^(?:[a-z_]*\d{0,3}|[a-z]\d{1,2}[a-z]|_?[A-Z]?[a-z]+\d?(?:[A-Z][a-z]+\d?)*|[A-Z\d_]+)$/

/** Letters of both cases and digits in no order, as no name has. */
export function isMix(value: string): boolean {
  const changes = value.match(/[a-z](?=[A-Z\d])|[A-Z](?=[a-z\d])|\d(?=[A-Za-z])/g)?.length ?? 0
  if ((value.match(/\d+/g)?.length ?? 0) > 1 && /[a-z]/.test(value) && /[A-Z]/.test(value)) return true
  return /\d/.test(value) && changes > 5 && changes > value.length / 3
}

/** Consonants that stand side by side in words and names of code; all others do in a word of chance. */
export const RARE_PAIR =
  /(?=[b-df-hj-np-tv-z]{2})(?!b[jlrsy]|c[chjklrtyz]|d[bdklnrsy]|f[flrst]|g[ghlnrs]|h[lmrty]|js|k[lnstv]|l[cdfglmnstvy]|m[bglmps]|n[cdfgklmnstvyz]|p[hlprst]|r[cdfgklmnprstvwyz]|s[cdfhkpqstvyz]|t[chlnprsty]|vm|w[dlnrs]|x[pty]|y[cdlmnpstw]|z[nyz])/g

/** Whether a word can be nothing but a password: digits among letters and signs, or in no order. */
export function isStrong(word: string): boolean {
  if (!/\d/.test(word) || !/[a-z]/i.test(word) || /[\\/(){}<>[\]=,;@:|]/.test(word)) return false
  if (/[a-z\d][!#$%^&*](?!&)/i.test(word)) return true
  const changes = word.match(/[a-z](?=[A-Z\d])|[A-Z](?=[a-z\d])|\d(?=[A-Za-z])/g)?.length ?? 0
  return (
    /^[\w.-]*$/.test(word) &&
    /[a-z]/.test(word) &&
    /[A-Z]/.test(word) &&
    changes > 4 &&
    changes > word.length / 3
  )
}

/** `cDoYtNOlaStmCN`, `ligaUlBgbXVK`: letters that no word has side by side, or capitals in no order. */
export function isScrambled(value: string): boolean {
  if (!/^[A-Za-z]{8,64}$/.test(value)) return false
  const parts = value.replace(/[a-z](?=[A-Z])/g, '$& ')
  const rare = parts.toLowerCase().match(RARE_PAIR)?.length ?? 0
  const words = value.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g)?.length ?? 0
  return (
    (rare > 2 && rare * 5 >= value.length) || (words > 4 && value.length >= 10 && value.length / words < 3)
  )
}

/** `$NAME`, `${NAME}`, `$(command)`, `<name>`, `{{name}}`, `%s`, `%NAME%`. */
function isTemplate(value: string, first: string): boolean {
  const last = value.at(-1)
  if ('<{['.includes(first)) return last === '>}]'['<{['.indexOf(first)]
  if (first === '%') return last === '%' || value.length < 4 || value[1] === '('
  return first === '$' && /^\$(?:[A-Za-z_]\w{0,80}$|[{(])/.test(value.slice(0, 100))
}

/** A variable, a template, a row of stars, or the mark of a secret that was hidden before. */
function isPlaceholder(value: string): boolean {
  const first = value[0]
  if (first === undefined) return true
  if (isTemplate(value, first)) return true
  if (value.includes('[redacted:') || value.includes('.env') || value.includes('os.environ')) return true
  if (noValues.has(value.slice(0, 20).toLowerCase())) return true
  // `^9.0.2`, `#032f62`, `sk-ant-xxxxxxxx`
  if (
    /^[\^~<>=v]{0,3}\d{1,4}(?:\.[\dx*]{1,4}){1,3}$|^#[\da-f]{3,8}$|([x*.•])\1{5}$|^@\w{1,60}@$/i.test(value)
  )
    return true
  if (value.includes('…') || value.endsWith('...') || value.includes('${')) return true
  // The name again: a label, or a variable.
  if (
    !/\d/.test(value) &&
    value.length < 20 &&
    familyOf(value) !== undefined &&
    /^[A-Z_]+$|^[a-zA-Z]?[a-z]+(?:[A-Z][a-z]+){0,3}$/.test(value)
  )
    return true
  // `privateKey: "/etc/ssl/server1.pem"`
  if (/^[\w~./\\-]{1,200}\.(?:pem|key|crt|json|ya?ml|toml|txt|p12|pfx|jks|env|ini)$/.test(value)) return true
  // `password: &str`
  if (/^[&*][a-z_]+$/i.test(value)) return true
  // JSON: what is in it is searched.
  if (/^[[{]\s?\\*["{]/.test(value)) return true
  // `password: !vault |`
  if (/^!\w{1,20}$/.test(value)) return true
  // `'password' => 'required|string|min:8'`
  if (/^(?:required|nullable|sometimes|string)\|/.test(value)) return true
  if (/^(?:your[-_]|insert[-_]|replace[-_]|enter[-_]|\.\.\.|op:\/\/|arn:)/i.test(value.slice(0, 8)))
    return true
  return /^(?:\*+|x+|X+|\.+|-+|•+)$/.test(value)
}

const schemes = wordsOf('bearer basic token digest apikey api-key negotiate bot key').map(
  (name) => `${name} `,
)

/** `Authorization: Bearer …`: the scheme stays. */
export function afterScheme(text: string, from: number, end: number): number {
  const head = text.slice(from, Math.min(end, from + 12)).toLowerCase()
  const scheme = schemes.find((known) => head.startsWith(known))
  return scheme ? from + scheme.length : from
}

/** Something after a scheme, or one word with a digit: not a sentence about authorization. */
export function isCredential(text: string, from: number, end: number): boolean {
  if (schemes.some((scheme) => text.slice(Math.max(0, from - scheme.length), from).toLowerCase() === scheme))
    return true
  const value = text.slice(from, Math.min(end, from + 200))
  if (value.includes(' ')) return value.startsWith('AWS4-HMAC')
  return value.length >= 16 || (value.length >= 6 && /\d/.test(value))
}
