import { isMade } from './named.ts'
import { isBlank, type Secret } from './secret.ts'
import { type Search, secretIn, spanAt } from './value.ts'

/** Commands and the flag before their password: with a blank between them, without one, or either. */
const commands: readonly (readonly [flag: string, glue: ' ' | '' | '*', command: RegExp])[] = [
  [
    '-p',
    ' ',
    /\b(?:login|mongo\w{0,9}|cqlsh|certutil|rdesktop|ncftp\w{3}|psexec\w{0,4}|unlock-keychain|security import)\b|\btwine upload\b/,
  ],
  ['-p', '', /\b(?:mysql\w{0,9}|mariadb(?:-dump)?|7z)\b/],
  ['-p', '*', /\bsshpass\b/],
  ['-P', '*', /\b(?:sqlcmd|bcp|unzip|zip|p4|ssh-keygen|security import)\b/],
  ['-AX', ' ', /\bsnmp\w+/],
  ['-t', ' ', /\bcodecov\b/],
  ['-16', ' ', /\bopenssl passwd\b/],
  ['-N', ' ', /\bssh-keygen\b/],
  ['-a', ' ', /\bredis-cli\b/],
  ['-k', ' ', /\bopenssl enc\b|\bnuget push\b|\bcoap-client\b/],
  ['-w', ' ', /\bldap\w{3,9}\b/],
]
/** Behind the name of a user any command may have one: only a word that has been made up counts. */
const WITH_USER = /[ \t]-[uU][ :][^-\s]|\buser_?add\b|\badd_?user\b/
/** Commands whose flag is before a name and a password, and what is between them. */
const logins: readonly (readonly [flag: string, sign: string, command: RegExp])[] = [
  ['-u --user --proxy-user', ':', /(?:)/],
  ['-E --cert', ':', /\bcurl\b/],
  ['-u', ',', /\blftp\b/],
  ['-U', '%', /\bsmbclient\b/],
  // HTTPie.
  ['-a', ':', /(?:^|[^\w/.-]|\\n)(?:https?|xhs?)\b(?!:)/],
]

/** Whether a command has its password after this flag. */
export function isPasswordFlag(before: string, flag: string, joined: boolean): boolean {
  const command = before.split(/[;|&\n]|\\[nt]/).at(-1)!
  return commands.some(
    ([known, glue, words]) =>
      flag.length === 2 &&
      known.includes(flag[1]!) &&
      (glue === '*' || joined === (glue === '')) &&
      words.test(command),
  )
}

/** Characters of a command that are read. */
const MAX_COMMAND = 400
const FLAG_AT = /[ \t](?:\\{0,8}["'])?(--user|--proxy-user|--cert|-[16aAEkpPtwNuUX])(?=\S|[ \t]{1,12}\S)/g

//  curl -u name:password     sshpass -p password     mysql -ppassword
//  ^ at
/** The password among the arguments of a command. */
export function argumentsAt(search: Search, at: number): Secret | undefined {
  const { text } = search
  const line = /^(?:[^\n;|&\\]|\\(?![nr]))*/
    .exec(text.slice(at, at + MAX_COMMAND))![0]
    // A list is read as a line: `["sshpass","-p","X"]`.
    .replace(/\\{0,8}["'], ?(?=\\{0,8}["'])/g, ({ length }) => ' '.repeat(length))
  FLAG_AT.lastIndex = Math.max(0, (search.flagsDone ?? 0) - at)
  for (const { index, 0: given, 1: flag = '' } of line.matchAll(FLAG_AT)) {
    search.flagsDone = at + index + 1
    let end = index + given.length
    const joined = !isBlank(line.charCodeAt(end)) && !'=:'.includes(line[end] ?? ' ')
    if (!joined) end++
    while (isBlank(line.charCodeAt(end))) end++
    const span = spanAt(search, at + end)
    // `-p 8080:80` is a port.
    if (!span || PORTS.test(text.slice(span.from, Math.min(span.to, span.from + 20)))) continue
    const before = text.slice(Math.max(0, at - 20), at + index)
    for (const login of logins) {
      if (!login[0].split(' ').includes(flag) || !login[2].test(before)) continue
      const sign = text.slice(span.from, Math.min(span.to, span.from + 100)).indexOf(login[1])
      const value = { ...span, from: span.from + sign + 1 }
      // `-u root:root` are a user and a group.
      const name = text.slice(span.from, span.from + sign)
      const isGroup = text.slice(value.from, span.to) === name || /^\d+$/.test(name)
      const secret =
        sign < 1 || isGroup ? undefined : secretIn(text, value, { family: 'password', sure: 'any' })
      if (secret) return secret
    }
    const isUsers = !joined && /^-[pP]$/.test(flag) && WITH_USER.test(before)
    if (!isPasswordFlag(before, flag, joined) && !(isUsers && isMade(text.slice(span.from, span.to))))
      continue
    const secret = secretIn(text, span, { family: 'password', sure: 'any' })
    if (secret) return secret
  }
  const others = OTHERS.exec(line)
  const span = others ? spanAt(search, at + others[0].length) : undefined
  return span && secretIn(text, span, { family: 'password', sure: 'line' })
}

/** Commands with a password at a place of its own. */
const OTHERS =
  /^(?:net use (?:[^\n]{1,100} \/user:\S{1,60} |(?:[a-z*]:? )?(?=\\)\S{3,100} )|net user \S{1,60} |(?:ht|mosquitto_)passwd -\w{0,4}b\w{0,3}(?: \S{1,60}){1,2}? (?=\S{1,200}(?:$|["'\\]))|(?:add_user|change_password) \S{1,60} |setapikey (?=\w{20})|wpa_passphrase (?:\\{0,8}["'][^"'\n\\]{1,40}\\{0,8}["']|\S{1,40}) |alias set(?: \S{1,200}){3} |schtasks [^\n]{0,100}\/rp |db2 connect to \S{1,60} user \S{1,60} using |[^\n]{0,60}[ \t]\/p(?:ass(?:word)?)?[: ]|login (?=[\w.-]{20})|http-basic\.\S{1,60} \S{1,60} )(?=[^\s/-])/i
const PORTS = /^[\d.]{1,15}:\d/

//  echo "root:X" | chpasswd       echo X | sudo -S       echo X | docker login --password-stdin
//                  ^ at                    ^ at                                 ^ at
//  chpasswd <<< "root:X"
//  ^ at
/** What is given to a command that reads a password from its input. */
export function pipedTo(search: Search, at: number): Secret | undefined {
  const { text } = search
  const start = Math.max(0, at - 200)
  const before = text.slice(start, at)
  const bar = before.lastIndexOf('|')
  // What is echoed is one command of one line.
  const line = Math.max(before.lastIndexOf('\n'), before.lastIndexOf('|', bar - 1)) + 1
  const piped = line <= bar ? ECHOED.exec(before.slice(line, bar)) : null
  const here = HERE.exec(text.slice(at, at + 80))
  if (!piped && !here) return undefined
  const span = spanAt(search, piped ? start + line + piped.index + piped[0].length : at + here![0].length)
  if (!span) return undefined
  const colon = text.startsWith('chpasswd', at) ? text.slice(span.from, span.to).indexOf(':') + 1 : 0
  return secretIn(text, { ...span, from: span.from + colon }, { family: 'password', sure: 'any' })
}

const HERE = /^[^\n|;<]{1,60}<<< ?/
const ECHOED =
  /(?:^|[^\w])(?:echo|printf)(?: -\w{1,3})?(?: ['"]%s(?:\\+n)?['"])? {1,3}(?=\S)|(?=["'][^"'|]{1,100}["'] {0,3}$)/
