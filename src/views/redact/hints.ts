import { mayHaveKey } from './random.ts'
import { isKeyUnit } from './shapes.ts'

/** The beginnings of commands that can have a password among their arguments. */
const commandWords: readonly string[] = [
  '7z |add_user|adduser|alias set|bcp |certutil |coap-client|codecov |cqlsh|curl|db2 connect|http-basic.|ldap|lftp |login',
  'mariadb|mongo|mysql|ncftp|net use|nuget push|openssl |p4 |rdesktop |redis-cli|schtasks|security import',
  'signtool |smbclient|snmp|sqlcmd|ssh-keygen |twine |unlock-keychain|useradd|xfreerdp |zip ',
]
/**
 * Words that begin, or are part of, what the grammar reads: names that say secret, commands with a password
 * among their arguments, signs of an address.
 */
const words: readonly string[] = [
  ' --user | -a | -u | -u:|%3a|%3d|&code=|-----begin |-pw |.tochararray(|/hook|:*:|://|:5432:|:5433:|:6432:',
  '::add-mask::|@tcp(|@unix(|:thin:|?code=|_pw|adgangskode|assword|auth|basic |bearer |bindpw|clave',
  'community |connect(|connection(|connectionstring|contrase|cookie|cred|crypt(|cryptsetup|expdp |geslo|haslo|heslo',
  'hmac(|identified |impdp |jelsz|jwt|kennwort|key|kinit|lozinka|mdp|mnemonic|mot de passe|parola|pass',
  'pat:|pat=|{sha|{ssha|pdo(|pepper|private-mac|psk|pw |pw:|pw=|pwd|rman target |rootpw|salasana',
  'secret|securestring|seed phrase|senha|sig|sign_in(|signin(|sqlplus |sudo -s|token|wachtwoord|wifi.begin(',
  // Codes, and where two words are a name and its password.
  'backup|recovery|verification|security code|2fa code|one-time code|otp|pin:|pin=|pin"|pin |pincode|pin_code',
  'plainauth(|create_user(|createuser(|zugang|log in with|anmeldedaten|identifiant',
  ...commandWords,
  // Passwords in other languages; what is not ASCII is looked for as bytes.
  'lösenord|арол|АРОЛ|密码|密碼|口令|パスワード|비밀번호|암호|รหัสผ่าน|पासवर्ड|كلمة المرور|şifre|Şifre|סיסמ|κωδικ',
  'mật khẩu|hasło',
]

const ALL_BITS = 0xffff_ffff

interface Hint {
  readonly bytes: Uint8Array
  /** Where the pair is in it. */
  readonly at: number
}

/** Pairs of letters in code and prose, the most common first. */
const COMMON_PAIRS =
  ' on in re th te he er co es an st en at nt ex ed or ti se is to ng me le ar it al ea ve as ec pe ra ne ri ro li io ct et ur ge lo fi om pa us el de ce la ad ut ha tu il ch ma ho ke nd ns ss no rs ta be e( t( mo'
const encoder = new TextEncoder()
/** The hints that a pair of bytes can be in, by its number in `listOf`. */
const lists: Hint[][] = [[]]
const listOf = new Uint16Array(1 << 16)
for (const some of words)
  for (const word of some.split('|')) {
    const bytes = encoder.encode(word)
    const rare = rarestIn(bytes)
    for (const at of [rare, rare + 1])
      for (const first of bothCases(bytes[at]!))
        for (const second of bothCases(bytes[at + 1]!)) {
          const pair = pairOf(first, second)
          if (listOf[pair] === 0) listOf[pair] = lists.push([]) - 1
          lists[listOf[pair]!]!.push({ bytes, at })
        }
  }

/** The bytes that are right before, and right after, a pair in a hint of its list, by five bits of each. */
const before = bitsOf(-1)
const behind = bitsOf(2)

function bitsOf(distance: number): Uint32Array {
  return Uint32Array.from(lists, (some) =>
    some.reduce((bits, { bytes, at }) => {
      const byte = bytes[at + distance]
      return byte === undefined ? ALL_BITS : bits | (1 << (byte & 31))
    }, 0),
  )
}

/**
 * Where the two pairs of a word begin that are rarest elsewhere: of two pairs in a row, one begins at an even
 * place. Short words have only the first two.
 */
function rarestIn(bytes: Uint8Array): number {
  const common = bytes.subarray(0, -1).map((byte, at) => {
    const rank = COMMON_PAIRS.indexOf(` ${String.fromCharCode(byte, bytes[at + 1]!)}`)
    return rank < 0 ? (rateOf(byte) * rateOf(bytes[at + 1]!)) / 16 : 255 - rank / 2
  })
  let rarest = 0
  for (let at = 1; at + 1 < common.length; at++)
    if (common[at]! + common[at + 1]! < common[rarest]! + common[rarest + 1]!) rarest = at
  return rarest
}

/** How common a byte is in code and prose. */
function rateOf(byte: number): number {
  const at = 'qzjxkvbywg_-|%=$fpmhdculsonaitre '.indexOf(String.fromCharCode(byte))
  return at < 0 ? 6 : at + 1
}

/** Two bytes as one number, in the order of this machine. */
function pairOf(first: number, second: number): number {
  return new Uint16Array(new Uint8Array([first, second]).buffer)[0]!
}

function bothCases(byte: number): number[] {
  return byte >= 97 && byte <= 122 ? [byte, byte - 32] : [byte]
}

/** The shortest key that is known by its shape alone. */
const SHORTEST = 16
const HALF = SHORTEST / 2
/** Characters that are encoded at once; more than any hint overlaps. */
const WINDOW = 1 << 15
const OVERLAP = 32
const scratch = new Uint8Array(WINDOW * 3)
const scratchPairs = new Uint16Array(scratch.buffer)

/** Where to look closer. */
export interface Places {
  /** A hint begins at `at`; the result is where to look on. */
  hint(at: number): number
  /** A character of a word of 16 or more that may be a key is at `at`; the result is where to look on. */
  word(at: number): number
}

/**
 * Finds the places in a text where a secret can be. Nearly all of a text has none: it is read as bytes, two
 * at a time, which takes a tenth of the time that its characters would.
 */
export function eachPlace(text: string, places: Places): void {
  let [hintsDone, wordsDone] = [0, 0]
  for (let start = 0; start < text.length; start += WINDOW - OVERLAP) {
    const { written } = encoder.encodeInto(
      start === 0 && text.length <= WINDOW ? text : text.slice(start, start + WINDOW),
      scratch,
    )
    const isAscii = written === Math.min(WINDOW, text.length - start)
    const units = isAscii ? () => (byte: number) => start + byte : unitsOf(start, written)
    const unitAt = units()
    const pairs = written >> 1
    for (let pair = nextPair(0, pairs); pair < pairs; pair = nextPair(pair + 1, pairs)) {
      const from = hintAt(lists[listOf[scratchPairs[pair]!]!]!, pair * 2, written)
      const unit = from < 0 ? -1 : unitAt(from)
      if (unit >= hintsDone) hintsDone = places.hint(unit)
    }
    const wordUnitAt = units()
    for (let i = SHORTEST - 1; i < written; i += SHORTEST) {
      if (isKeyUnit[scratch[i]!] === 0) continue
      // A word of that length that has the probe has one of these, too.
      if (isKeyUnit[scratch[i - HALF]!] === 0 && i + HALF < written && isKeyUnit[scratch[i + HALF]!] === 0)
        continue
      let [from, to] = [i, i + 1]
      while (from > 0 && isKeyUnit[scratch[from - 1]!] === 1) from--
      while (to < written && isKeyUnit[scratch[to]!] === 1) to++
      // The next place to look at behind this word.
      const probe = i
      i += (to - 1 - i) & -SHORTEST
      if (to - from < SHORTEST && to < written && from > 0) continue
      const isWhole = (from > 0 || start === 0) && (to + 2 < written || start + WINDOW >= text.length)
      if (isWhole && !mayHaveKey(scratch, from, to)) continue
      const unit = wordUnitAt(probe)
      if (unit >= wordsDone) wordsDone = places.word(unit)
    }
  }
}

/** Where characters of several bytes begin, and by how much bytes are ahead of units behind each. */
const wideAt = new Uint32Array(WINDOW)
const ahead = new Uint32Array(WINDOW)

/** Finds what the places of bytes in the scratch are in the text; each is asked nearly in order. */
function unitsOf(start: number, written: number): () => (byte: number) => number {
  let [count, more] = [0, 0]
  for (let byte = 0; byte < written; byte++) {
    const value = scratch[byte]!
    // The other bytes of a character begin with 10; a character of four bytes has two units.
    if (value < 0xc0) continue
    more += value >= 0xe0 ? 2 : 1
    wideAt[count] = byte
    ahead[count++] = more
  }
  return () => {
    let known = 0
    return (byte) => {
      while (known > 0 && wideAt[known - 1]! >= byte) known--
      while (known < count && wideAt[known]! < byte) known++
      return start + byte - (known > 0 ? ahead[known - 1]! : 0)
    }
  }
}

/** The next pair that a hint can have; a function of its own, because it runs over everything. */
function nextPair(from: number, end: number): number {
  for (let pair = from; pair < end; pair++) {
    const list = listOf[scratchPairs[pair]!]!
    if (list === 0) continue
    // Nearly all pairs of a hint are in other words, which have other bytes around them.
    const right = behind[list]! >>> (scratch[pair * 2 + 2]! & 31)
    if ((right & 1) === 0) continue
    const left = before[list]! >>> (scratch[pair === 0 ? 0 : pair * 2 - 1]! & 31)
    if ((left & 1) === 1) return pair
  }
  return end
}

/** Where the hint begins that has its pair at this place; -1 if there is none. */
function hintAt(some: readonly Hint[], pairAt: number, written: number): number {
  for (let n = 0; n < some.length; n++) {
    const { bytes, at } = some[n]!
    const from = pairAt - at
    if (from < 0 || from + bytes.length > written) continue
    let i = 0
    while (i < bytes.length && lower[scratch[from + i]!] === bytes[i]) i++
    if (i === bytes.length) return from
  }
  return -1
}

/** Each byte; a capital letter as the small one. */
const lower = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte))
