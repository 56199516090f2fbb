/**
 * A secret of some kind, and how it is usually written down. None of them is real: they are made here, of
 * chance.
 */
export interface Planted {
  readonly kind: string
  readonly secret: string
  /** The secret in a line of text, as people and programs write it. */
  readonly line: string
  /** It is found because nothing else is on its line. */
  readonly ownLine?: true
}

const small = 'abcdefghijklmnopqrstuvwxyz'
const capital = small.toUpperCase()
const digit = '0123456789'
const alnum = small + capital + digit
const word = `${alnum}_-`
const hex = '0123456789abcdef'
const base64 = `${alnum}+/`

/** The same numbers from the same seed. */
export function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** Secrets of more than seventy kinds. */
export function plantedSecrets(seed = 1): Planted[] {
  const next = chance(seed)
  const of = (alphabet: string, length: number) =>
    Array.from({ length }, () => alphabet[Math.floor(next() * alphabet.length)]).join('')
  /** Never words alone: a password that is one cannot be told from a word. */
  const pass = (length: number) => `${of(small, 3)}${of(digit, 2)}${of(`${alnum}!#%^*`, length - 5)}`
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const bare = (kind: string, secret: string): Planted => ({ kind, secret, line: `found ${secret} in it` })
  const held = (kind: string, secret: string, line: (secret: string) => string): Planted => ({
    kind,
    secret,
    line: line(secret),
  })
  const jwt = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded({ sub: of(digit, 10) })}.${of(word, 43)}`
  const pem = (title: string) => [
    `-----BEGIN ${title}-----`,
    of(base64, 64),
    of(base64, 64),
    `${of(base64, 30)}==`,
    `-----END ${title}-----`,
  ]
  return [
    bare('openai', `sk-${of(alnum, 20)}T3BlbkFJ${of(alnum, 20)}`),
    bare('openai', `sk-proj-${of(word, 120)}1`),
    bare('openai', `sk-svcacct-${of(word, 60)}1`),
    bare('anthropic', `sk-ant-api03-${of(word, 93)}AA`),
    bare('anthropic', `sk-ant-oat01-${of(word, 86)}`),
    bare('openrouter', `sk-or-v1-${of(hex, 64)}`),
    bare('openai', `sk-${of(hex, 31)}7`),
    bare('google', `AIza${of(word, 35)}`),
    bare('google', `ya29.${of(word, 120)}`),
    bare('google', `GOCSPX-${of(word, 28)}`),
    bare('aws', `AKIA${of(`${capital}234567`, 16)}`),
    bare('aws', `ASIA${of(`${capital}234567`, 16)}`),
    held('secret', `${of(base64, 39)}7`, (s) => `aws_secret_access_key = ${s}`),
    held('secret', of(base64, 300), (s) => `export AWS_SESSION_TOKEN=${s}`),
    bare('github', `ghp_${of(alnum, 36)}`),
    bare('github', `gho_${of(alnum, 36)}`),
    bare('github', `ghs_${of(alnum, 36)}`),
    bare('github', `github_pat_${of(alnum, 22)}_${of(alnum, 59)}`),
    bare('gitlab', `glpat-${of(word, 20)}`),
    bare('gitlab', `glrt-${of(word, 20)}`),
    bare('slack', `xoxb-${of(digit, 12)}-${of(digit, 12)}-${of(alnum, 24)}`),
    bare('slack', `xapp-1-A${of(capital, 10)}-${of(digit, 12)}-${of(hex, 64)}`),
    held(
      'slack',
      `T${of(capital, 8)}/B${of(capital, 8)}/${of(alnum, 24)}`,
      (s) => `https://hooks.slack.com/services/${s}`,
    ),
    held('discord', `${of(digit, 18)}/${of(word, 68)}`, (s) => `https://discord.com/api/webhooks/${s}`),
    bare('stripe', `sk_live_${of(alnum, 24)}`),
    bare('stripe', `rk_live_${of(alnum, 24)}`),
    bare('webhook', `whsec_${of(alnum, 32)}`),
    bare('npm', `npm_${of(alnum, 36)}`),
    bare('pypi', `pypi-AgEIcHlwaS5vcmc${of(word, 80)}`),
    bare('docker', `dckr_pat_${of(word, 27)}`),
    bare('jwt', jwt),
    held(
      'azure',
      `${of(base64, 86)}==`,
      (s) => `AccountName=acme;AccountKey=${s};EndpointSuffix=core.windows.net`,
    ),
    bare('azure', `${of(alnum, 3)}8Q~${of(alnum, 34)}`),
    held(
      'azure',
      `${of(alnum, 43)}%3D`,
      (s) => `https://acme.blob.core.windows.net/a?sv=2024&sig=${s}&se=2026`,
    ),
    held('private-key', pem('RSA PRIVATE KEY').join('\n'), (s) => `cat id_rsa\n${s}\ndone`),
    held('private-key', pem('OPENSSH PRIVATE KEY').join('\n'), (s) => `${s}`),
    held('private-key', pem('PGP PRIVATE KEY BLOCK').join('\n'), (s) => `key:\n${s}`),
    held('url', pass(14), (s) => `postgres://app:${s}@db.example.com:5432/app`),
    held('url', pass(12), (s) => `redis://:${s}@cache:6379/0`),
    held('url', `${of(alnum, 39)}1`, (s) => `git clone https://${s}@git.example.com/acme/app.git`),
    held('password', pass(10), (s) => `DB_PASSWORD=${s}`),
    held('password', pass(12), (s) => `password: "${s}"`),
    held('password', pass(9), (s) => `{"user":"a","password":"${s}"}`),
    held('password', pass(11), (s) => `mysql --user root --password ${s} app`),
    held('password', pass(13), (s) => `curl -u admin:${s} https://example.com`),
    held('secret', of(hex, 32), (s) => `api_key: '${s}'`),
    held('secret', of(alnum, 30), (s) => `CLIENT_SECRET=${s}`),
    held('secret', of(alnum, 24), (s) => `https://example.com/v1?page=2&access_token=${s}&x=1`),
    held('secret', `${of(alnum, 31)}9`, (s) => `"apiKey": "${s}",`),
    held('secret', of(hex, 40), (s) => `x-api-key: ${s}`),
    held('authorization', `${of(alnum, 40)}1`, (s) => `Authorization: Bearer ${s}`),
    held(
      'basic',
      `${Buffer.from(`admin:${of(alnum, 15)}99`)
        .toString('base64')
        .replaceAll('=', '')}`,
      (s) => `-H 'Authorization: Basic ${s}'`,
    ),
    held('bearer', `${of(alnum, 40)}1`, (s) => `sent with Bearer ${s}`),
    held('cookie', `${of(alnum, 40)}`, (s) => `Set-Cookie: sid=${s}; Path=/; HttpOnly`),
    held('cookie', `${of(hex, 32)}`, (s) => `Cookie: theme=dark; session=${s}`),
    bare('sendgrid', `SG.${of(word, 22)}.${of(word, 43)}`),
    bare('twilio', `SK${of(hex, 32)}`),
    bare('mailgun', `key-${of(hex, 32)}`),
    bare('mailchimp', `${of(hex, 32)}-us12`),
    bare('telegram', `${of(digit, 10)}:AA${of(word, 33)}`),
    bare('huggingface', `hf_${of(alnum, 34)}`),
    bare('replicate', `r8_${of(alnum, 37)}`),
    bare('groq', `gsk_${of(alnum, 52)}`),
    bare('xai', `xai-${of(alnum, 80)}`),
    bare('perplexity', `pplx-${of(alnum, 48)}`),
    bare('databricks', `dapi${of(hex, 32)}`),
    bare('digitalocean', `dop_v1_${of(hex, 64)}`),
    bare('linear', `lin_api_${of(alnum, 40)}`),
    bare('notion', `secret_${of(alnum, 43)}`),
    bare('shopify', `shpat_${of(hex, 32)}`),
    bare('vault', `hvs.${of(word, 24)}`),
    bare('terraform', `${of(alnum, 14)}.atlasv1.${of(word, 67)}`),
    bare('doppler', `dp.pt.${of(alnum, 43)}`),
    bare('age', `AGE-SECRET-KEY-1${of(capital + digit, 58)}`),
    bare('atlassian', `ATATT3xFfGF0${of(word, 100)}`),
    bare('langsmith', `lsv2_pt_${of(hex, 32)}_${of(hex, 10)}`),
    bare('random', of(base64, 40)),
    bare('random', of(alnum, 48)),
    bare('airtable', `pat${of(alnum, 14)}.${of(hex, 64)}`),
    held('google', `AIza${of(word, 35)}`, (s) => `see _${s}_ there`),
    held('aws', `AKIA${of(`${capital}234567`, 16)}`, (s) => `old_${s}_key`),
    ...named(() => of(small, 9)),
    bare('discord', `NzI${of(alnum, 21)}.${of(word, 6)}.${of(word, 27)}`),
    bare('discord', `OTg${of(alnum, 23)}.${of(word, 6)}.${of(word, 38)}`),
  ]
}

/** Words without a digit that only their name, or their place, tells from others. */
function named(word: () => string): Planted[] {
  const lines: Record<string, (word: string) => string> = {
    'an XML element': (word) => `<db><password>${word}</password></db>`,
    'an XML element with an attribute': (word) => `<apiKey env="prod">${word}</apiKey>`,
    'an XML element of a namespace': (word) => `<a:secret><![CDATA[${word}]]></a:secret>`,
    'two XML elements': (word) => `<name>db.password</name><value>${word}</value>`,
    'two XML attributes': (word) => `<add key="ClientSecret" value="${word}"/>`,
    'Kubernetes as YAML': (word) => `env:\n- name: A\n  value: b\n- name: DB_PASSWORD\n  value: ${word}`,
    'Kubernetes as JSON': (word) => `{"env":[{"name":"DB_PASSWORD","value":"${word}"}]}`,
    'a value before its name': (word) => `{"value":"${word}","name":"API_TOKEN"}`,
    'a Dockerfile': (word) => `FROM node\nENV DB_PASSWORD ${word}`,
    '.netrc': (word) => `machine example.com login me password ${word}`,
    '.netrc of many lines': (word) => `machine example.com\n  login me\n  password ${word}`,
    '.pgpass': (word) => `db.example.com:5432:app:admin:${word}`,
    'docker login': (word) => `docker login -u me -p ${word} registry.example.com`,
    sshpass: (word) => `sshpass -p ${word} ssh me@example.com`,
    'sshpass without a blank': (word) => `sshpass -p${word} ssh me@example.com`,
    mysql: (word) => `mysqldump -u root -p${word} app`,
    'redis-cli': (word) => `redis-cli -h cache -a ${word} ping`,
    'a flag with a sign': (word) => `mysql --user=root --password=${word} app`,
    'docker login with a sign': (word) => `docker login -u me -p=${word}`,
    'settings of a connection': (word) => `psql "host=db password=${word} dbname=app"`,
    'the fragment of an address': (word) => `https://example.com/cb#access_token=${word}&x=1`,
    'an emphasized name': (word) => `- **Password**: ${word}`,
    'a flag': (word) => `deploy --token ${word} --to prod`,
    Terraform: (word) => `variable "db_password" {\n  type = string\n  default = "${word}"\n}`,
    'an HTML input': (word) => `<input type="password" name="pw" value="${word}">`,
    'an HTML input, its value first': (word) => `<input value="${word}" type="password">`,
    'a Markdown table': (word) => `| user | password |\n| --- | --- |\n| bob | ${word} |`,
    'a table of psql': (word) => ` id | password\n----+----------\n  1 | ${word}`,
    CSV: (word) => `user,password,mail\nbob,${word},bob@example.com`,
    'CSV with quotes': (word) => `"user","password"\n"bob","${word}"`,
    TSV: (word) => `user\tpassword\nbob\t${word}`,
    'a sentence': (word) => `The password for admin is "${word}".`,
    'a sentence with a digit': (word) => `The password is 7${word}.`,
    'a header': (word) => `X-Auth-Token: ${word}`,
    'a header of curl': (word) => `curl -H 'X-Api-Key: ${word}' https://example.com`,
    'a short bearer token': (word) => `Authorization: Bearer ${word}`,
    SQL: (word) => `CREATE USER app WITH PASSWORD '${word}'`,
    YAML: (word) => `db:\n  password: ${word}\n  port: 1`,
    'an ini file': (word) => `[client]\npassword = ${word}`,
    'an environment file': (word) => `API_TOKEN=${word}`,
    JSON: (word) => `{"token":"${word}"}`,
    'a connection string': (word) => `"Server=db;Password=${word};Database=app"`,
  }
  return Object.entries(lines).map(([kind, line]) => {
    const secret = word()
    return { kind, secret, line: line(secret), ownLine: true }
  })
}
