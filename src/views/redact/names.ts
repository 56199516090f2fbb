/** What a name says about its value. */
export type NameFamily = 'password' | 'secret' | 'authorization' | 'cookie'

const passwords = ['password', 'passwd', 'passphrase', 'passcode', 'pwd', 'passwort']
const secrets = [
  ...['secret', 'token', 'apikey', 'accesskey', 'secretkey', 'privatekey', 'signingkey', 'encryptionkey'],
  ...['masterkey', 'accountkey', 'authkey', 'servicekey', 'rolekey', 'sessionkey', 'deploykey', 'licensekey'],
  ...['credential', 'credentials', 'connectionstring', 'jwt', 'xamzsignature', 'privatekeyid'],
]
/** Complete names. `sig` is the signature in an address of Azure, `_auth` a line of .npmrc. */
const wholeSecrets = new Set(['auth', 'sig', 'bearer', 'sessiontoken'])

/**
 * Whether a name is that of a secret: `DB_PASSWORD`, `apiKey`, `x-api-key`, `aws_secret_access_key`,
 * `STRIPE_KEY`, `Authorization`, `Set-Cookie`. At most 64 characters are read.
 */
export function familyOf(name: string): NameFamily | undefined {
  if (name.length < 3 || name.length > 64) return undefined
  const known = families.get(name)
  if (known !== undefined) return known || undefined
  const family = judge(name)
  if (families.size >= MAX_FAMILIES) families.clear()
  families.set(name, family ?? '')
  return family
}

/** A cache: the names in a log repeat. */
const families = new Map<string, NameFamily | ''>()
const MAX_FAMILIES = 2000

function judge(name: string): NameFamily | undefined {
  const plain = plainName(name)
  if (passwords.some((end) => plain.endsWith(end)) || isPass(name)) return 'password'
  if (plain.endsWith('authorization')) return 'authorization'
  if (plain === 'cookie' || plain === 'setcookie' || plain === 'cookies') return 'cookie'
  if (wholeSecrets.has(plain) || secrets.some((end) => plain.endsWith(end))) return 'secret'
  return name.endsWith('_KEY') && name === name.toUpperCase() && !name.includes('PUBLIC')
    ? 'secret'
    : undefined
}

/** Without separators, and without a number at the end: `TOKEN_2`. */
function plainName(name: string): string {
  let plain = ''
  for (const c of name) if (c !== '_' && c !== '-' && c !== '.') plain += c.toLowerCase()
  let end = plain.length
  while (end > 0 && plain[end - 1]! >= '0' && plain[end - 1]! <= '9') end--
  return plain.slice(0, end)
}

/** `pass`, `DB_PASS`, `dbPass`, but not `bypass`. */
function isPass(name: string): boolean {
  const end = name.slice(-4)
  if (end.toLowerCase() !== 'pass') return false
  const joined = name.length === 4 || '_-.'.includes(name.at(-5)!)
  return joined || (end === 'Pass' && name.at(-5)! >= 'a')
}

/** Names of values that are random but not secret: ids, hashes, signatures, and data. */
const opaque = ['id', 'ids', 'uuid', 'hash', 'digest', 'integrity', 'checksum', 'sha', 'etag', 'cursor']
const opaqueWhole = ['data', 'signature', 'thoughtsignature', 'encryptedcontent', 'fingerprint', 'nonce']

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

/** Words that are placeholders for a value: types, and hints of a form. */
const noValues = new Set(
  'string number boolean object array any unknown undefined null none true false required optional missing invalid redacted hidden masked changeme password secret token example placeholder str bytes self this void'.split(
    ' ',
  ),
)

/** How the value was found. */
export interface Assigned {
  readonly family: NameFamily
  readonly quoted: boolean
  /** A line of an environment file: `DB_PASS=letmein`. Anything is a value there. */
  readonly plain: boolean
}

/** Whether the value can be a secret: not a type, a placeholder or code. */
export function isSecretValue(value: string, { family, quoted, plain }: Assigned): boolean {
  if (isPlaceholder(value)) return false
  const { digits, letters, capitals, blanks, others, calls } = countIn(value)
  if (!quoted && (calls || '<{['.includes(value[0]!))) return false
  if (family === 'authorization' || family === 'cookie') return value.length >= 8
  if (family === 'password') {
    if (value.length < 4 || blanks > 6) return false
    if (quoted || plain) return blanks === 0 || others === 0 || !value.includes('must')
    return (digits > 0 || others > 0) && (letters > 0 || value.length >= 6) && !isAccess(value)
  }
  if (value.length < 8 || blanks > 0 || letters === 0) return false
  if (digits === 0 && !(capitals > 2 && capitals < letters - 2 && value.length >= 16)) return false
  return quoted || plain || !isAccess(value)
}

function countIn(value: string) {
  let [digits, letters, capitals, blanks, others] = [0, 0, 0, 0, 0]
  let calls = false
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i)
    if (unit >= 48 && unit <= 57) digits++
    else if (unit >= 97 && unit <= 122) letters++
    else if (unit >= 65 && unit <= 90) {
      letters++
      capitals++
    } else if (unit === 32 || unit === 9) blanks++
    else {
      others++
      // `getToken(2)`, `tokens[0]`, `Box<Token>`
      if (unit === 40 || unit === 91 || unit === 60) calls = true
    }
  }
  return { digits, letters, capitals, blanks, others, calls }
}

/** `config.token2`, `self.password1`, `authToken`: names with dots between them, or one without a digit. */
function isAccess(value: string): boolean {
  const dots = value.includes('.')
  let digits = false
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i)
    if (unit >= 48 && unit <= 57) digits = true
    else if (!((unit | 32) >= 97 && (unit | 32) <= 122) && unit !== 95 && unit !== 46 && unit !== 58)
      return false
  }
  return dots || !digits
}

/** `$NAME`, `${NAME}`, `$(command)`, `<name>`, `{{name}}`, `%s`, `%NAME%`. */
function isTemplate(value: string, first: string): boolean {
  const last = value.at(-1)
  if (first === '<') return last === '>'
  if (first === '{') return last === '}'
  if (first === '[') return last === ']'
  if (first === '%') return last === '%' || value.length < 4
  return first === '$' && /^\$(?:[A-Za-z_]\w{0,80}$|[{(])/.test(value.slice(0, 100))
}

/** A variable, a template, a row of stars, or the mark of a secret that was hidden before. */
function isPlaceholder(value: string): boolean {
  const first = value[0]
  if (first === undefined) return true
  if (isTemplate(value, first)) return true
  if (value.includes('[redacted:') || value.includes('.env') || value.includes('os.environ')) return true
  if (noValues.has(value.slice(0, 20).toLowerCase())) return true
  const lower = value.slice(0, 8).toLowerCase()
  if (lower.startsWith('your-') || lower.startsWith('your_') || lower.startsWith('...')) return true
  for (const c of value) if (c !== first) return false
  return first === '*' || first === 'x' || first === 'X' || first === '.' || first === '-' || first === '•'
}
