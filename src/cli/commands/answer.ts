import fs from 'node:fs'
import { join } from 'node:path'
import { badOption, orElse, quote } from '../../base/fault.ts'
import { listAttempts } from '../../run/attempt-logs.ts'
import { orderedRun, takesOrders } from '../../run/orders.ts'
import { AUDITS, fixedDir, RUN_NAME, readFolder } from '../../run/run-directory.ts'
import { type AskedRequest, AskedRequests } from '../../serve/asked-requests.ts'
import { auditPlace } from '../../serve/run-place.ts'
import type { CommandTable } from '../command-table.ts'
import { safe } from '../draw/safe.ts'
import { exits } from '../exit-codes.ts'
import { giveAndWait, LATEST, type LatestFlags, recordedDir } from '../input/give-order.ts'
import { output } from '../print.ts'

const help = `
Without OPTION it prints what the run asks, and what can be answered. Without
DIR it is the newest run in ${AUDITS} that waits; without REQUEST the oldest
request of the run. cancel dismisses any request. A question is answered by its
text, or by QUESTION=TEXT for each of several.

Exit codes: 0 answered; 1 the run refused; 2 bad usage; 5 something waits, and
was printed.

Examples:
  $ npx agent-sluice answer
  $ npx agent-sluice answer allow_once
  $ npx agent-sluice answer --last 1:4 proceed_once
  $ npx agent-sluice answer --last 1:5 size=large colour=blue`

/** `sluice answer`: answers a request of a run from another terminal. */
export default {
  about: 'Answers what a run asks that was started with --control and --talk.',
  usage: '[options] [dir] [request] [option...]',
  args: [['[words...]', 'the directory of the run, the request, and the option or the answers']],
  options: [['--last', `answer the run at ${LATEST}, whatever others wait`]],
  help,
  act: answer,
} satisfies CommandTable

async function answer(words: readonly string[], flags: LatestFlags): Promise<number> {
  const [first = ''] = words
  const named = first !== '' && listAttempts(fixedDir(first)).length > 0
  const dir = named || flags.last ? recordedDir(named ? first : undefined, flags) : await newestWaiting()
  if (dir === undefined)
    throw badOption(`no run in ${AUDITS} waits for an answer; name the directory of another one`)
  const rest = named ? words.slice(1) : words
  const open = await openIn(dir)
  const [oldest] = open.keys()
  if (oldest === undefined) throw badOption(`${quote(dir, 200)} waits for no answer`)
  const isId = rest[0] !== undefined && (open.has(rest[0]) || /^\d+:/.test(rest[0]))
  const id = isId ? rest[0]! : oldest
  const given = isId ? rest.slice(1) : rest
  const request = open.get(id)
  if (!request)
    throw badOption(`the request ${quote(id, 60)} is not open; these are: ${[...open.keys()].join(', ')}`)
  if (given.length > 0)
    return await giveAndWait(dir, { do: 'answer', request: id, ...choiceIn(request, given) })
  await output()(`${safe([...open].flatMap(([each, asked]) => shown(dir, each, asked)).join('\n'))}\n`)
  return exits.needsInput
}

function choiceIn({ options, questions }: AskedRequest, words: readonly string[]) {
  const [word = ''] = words
  if (words.length === 1 && (word === 'cancel' || options.some(({ id }) => id === word)))
    return { option: word }
  const named = words.map((each) => questions.find(({ id }) => each.startsWith(`${id}=`)))
  if (named.every((question) => question !== undefined))
    return { answers: Object.fromEntries(named.map(({ id }, at) => [id, words[at]!.slice(id.length + 1)])) }
  const [only] = questions
  if (only && questions.length === 1 && words.length === 1) return { answers: { [only.id]: word } }
  // The run knows the kinds of the options.
  if (words.length === 1 && questions.length === 0) return { option: word }
  throw badOption(
    `give an option, or QUESTION=TEXT with ${questions.map(({ id }) => quote(id, 60)).join(', ')}`,
  )
}

function shown(dir: string, id: string, { title, options, questions }: AskedRequest): string[] {
  const rows = options.map((option) => `  ${option.id}  ${option.text}`)
  if (!options.some((option) => option.id === 'cancel')) rows.push('  cancel  dismiss it')
  return [`${dir} ${id}: ${title}`, ...questions.map((one) => `  ${one.id}= ${one.text}`), ...rows]
}

async function openIn(dir: string): Promise<Map<string, AskedRequest>> {
  const requests = new AskedRequests()
  const real = fs.realpathSync(fixedDir(dir))
  const known = await requests.of(auditPlace(real, real))
  requests.close()
  return new Map([...known.requests].filter(([, { settled }]) => !settled))
}

/** The newest run that takes orders and waits for one. */
async function newestWaiting(): Promise<string | undefined> {
  const names = orElse(() => readFolder(AUDITS), []).map(({ name }) => name)
  for (const name of names.filter((each) => RUN_NAME.test(each)).reverse()) {
    const dir = join(AUDITS, name)
    const run = orderedRun(dir)
    if (run && takesOrders(run) && (await openIn(dir)).size > 0) return dir
  }
  return undefined
}
