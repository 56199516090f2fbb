import fs from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { checkPath } from '../base/check-options.ts'
import { Fault, quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { digestOf } from '../disk/cache.ts'
import { appendLine, makeDir, writeWhole } from '../disk/durable.ts'
import { withLock } from '../disk/lock.ts'
import { readBlock, withPlain } from '../disk/plain-file.ts'
import { isJson } from '../json/strict.ts'

/** The owner of a comment: a run has one comment on its issue. */
export interface OutboxKey {
  readonly issue_ref: string
  readonly run_id: string
}

/** A result to post or archive. Two results are the same if their digests are. */
export interface OutboxPost extends OutboxKey {
  /** A hash of the content of the result, and for a comment its state: `4f2c…-ok`. Store it unchanged. */
  readonly digest: string
  /** The rendered comment. */
  readonly comment: string
  /** The settled work, for the archive. */
  readonly work: unknown
  /** The digest of this run's comment that says needs-human: if it is still there, it is replaced. */
  readonly replaces?: string
}

/**
 * Where `work` posts the comments with its results. Three functions, so that any tracker can be plugged in.
 *
 * `post` must be idempotent by `issue_ref` + `run_id`: if there is already a comment of that run, it changes
 * nothing and returns its digest. The one exception is `post.replaces`: a comment with exactly that digest is
 * replaced. A tracker that cannot edit a comment ignores `replaces`, and the new result is archived.
 *
 * @example
 * const tracker: Outbox = {
 *   find: async (key) => findComment(marker(key)),
 *   post: async (post) => addCommentOnce(post.issue_ref, marker(post) + post.comment),
 *   archive: async (post) => saveForLater(post),
 * }
 */
export interface Outbox {
  /** The digest of the result that was posted for this run, if one was. */
  find(key: OutboxKey): Promise<string | undefined>
  /** Posts a comment, or replaces the one with the digest `replaces`; else returns the digest it found. */
  post(post: OutboxPost): Promise<string | undefined>
  /** Stores a result without a comment. */
  archive(post: OutboxPost): Promise<void>
}

/**
 * An outbox in a directory: `comments/` has one file per run, `archive/` the results that do not count, and
 * `journal.jsonl` one line for each. Comments are written atomically, and the first process to create one
 * wins. Only a comment that says needs-human is ever replaced, in place. After a crash between comment and
 * journal, the next attempt adds the missing line; in a race it may be there twice, with the same `id`.
 *
 * @example
 * await work(order, { worker: 'json-cli', command: ['./worker'], outbox: outbox('.outbox') })
 */
export function outbox(dir: string): Outbox {
  checkPath('outbox', dir, 'outbox(".outbox")')
  const journal = join(dir, 'journal.jsonl')
  const place = (key: OutboxKey) => join(dir, 'comments', `${fileName(key)}.md`)

  /** The current comment of a run, if it can be read. */
  function standing(key: OutboxKey): Standing | undefined {
    try {
      const found = head.exec(
        withPlain(place(key), undefined, (fd) => readBlock(fd, 0, 200).toString('latin1')),
      )
      return found
        ? { digest: found[1]!, revision: Number(found[2] ?? 1) }
        : { digest: 'unknown', revision: 1 }
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw unfit(place(key), error)
    }
  }

  /** Creates a file under a free name, then its line. False if the name was taken. */
  async function keep(kind: Kind, post: OutboxPost, path: string, text: string): Promise<boolean> {
    try {
      const won = await writeWhole(path, text, true)
      if (won) await record(kind, post)
      return won
    } catch (error) {
      throw notStored(post, error)
    }
  }

  async function record(kind: Kind, posted: Posted): Promise<void> {
    const { issue_ref, run_id, digest } = posted
    const entry = { id: idOf(kind, posted), kind, ts: new Date().toISOString(), issue_ref, run_id, digest }
    await appendLine(journal, JSON.stringify(entry))
  }

  /** Adds the line that an earlier attempt was killed before writing. */
  async function complete(kind: Kind, posted: Posted): Promise<void> {
    const start = `{"id":"${idOf(kind, posted)}",`
    // Non-blocking: opening a FIFO would wait forever.
    const flags = fs.constants.O_RDONLY | fs.constants.O_NONBLOCK
    const file = await open(journal, flags).catch((error) => {
      if (codeOf(error) !== 'ENOENT') throw unfit(journal, error)
    })
    try {
      if (file && !(await file.stat()).isFile()) throw unfit(journal, new Error('it is not a regular file'))
      if (file) {
        // A writer that was killed in mid-line may have left half of it.
        for await (const line of file.readLines({ autoClose: false }))
          if (line.startsWith(start) && isJson(line)) return
      }
    } finally {
      await file?.close()
    }
    await record(kind, posted)
  }

  /** Edits a comment, one process at a time. */
  async function replace(post: OutboxPost): Promise<string | undefined> {
    const locks = join(dir, 'locks')
    try {
      makeDir(locks)
      return await withLock(join(locks, `${fileName(post)}.lock`), async () => {
        const now = standing(post)
        if (now && now.digest !== post.replaces) return now.digest
        const posted = { ...post, revision: (now?.revision ?? 0) + 1 }
        await writeWhole(place(post), textOf(posted))
        await record('comment', posted)
        return undefined
      })
    } catch (error) {
      throw Fault.is(error) && error.code === 'OUTBOX_FAILED' ? error : notStored(post, error)
    }
  }

  return {
    async find(key) {
      const found = standing(key)
      if (found) await complete('comment', { ...key, ...found })
      return found?.digest
    },
    async post(post) {
      if (post.replaces !== undefined) return replace(post)
      if (await keep('comment', post, place(post), textOf(post))) return undefined
      // The name is taken: undefined would mean that the comment was posted.
      return standing(post)?.digest ?? 'unknown'
    },
    async archive(post) {
      const path = join(dir, 'archive', `${fileName(post)}-${post.digest.slice(0, 16)}.json`)
      if (await keep('archive', post, path, `${JSON.stringify(post.work, null, 2)}\n`)) return
      try {
        withPlain(path, undefined, () => {})
      } catch (error) {
        throw unfit(path, error)
      }
      await complete('archive', post)
    },
  }
}

type Kind = 'comment' | 'archive'

/** The comment of a run; its revision increases each time it is replaced. */
interface Standing {
  readonly digest: string
  readonly revision: number
}

type Posted = OutboxKey & Pick<OutboxPost, 'digest'> & { readonly revision?: number }

const idOf = (kind: Kind, { digest, revision = 1, ...key }: Posted) =>
  `${kind}:${fileName(key)}:${digest.slice(0, 16)}${revision > 1 ? `:${revision}` : ''}`

const textOf = ({ digest, comment, revision = 1 }: OutboxPost & Posted) =>
  `<!-- sluice-work ${digest}${revision > 1 ? ` ${revision}` : ''} -->\n${comment}`

const head = /^<!-- sluice-work ([0-9a-f]{64}(?:-[a-z-]{1,20})?)(?: (\d{1,9}))? -->\n/

function notStored({ run_id }: OutboxPost, cause: unknown): Fault {
  return new Fault('OUTBOX_FAILED', `the outbox cannot store the result of ${quote(run_id)}`, { cause })
}

function unfit(path: string, cause: unknown): Fault {
  const why = codeOf(cause) ?? 'unreadable'
  return new Fault('OUTBOX_FAILED', `the outbox cannot use ${quote(path, 200)} (${why}); look at it`, {
    cause,
  })
}

/** A name that any file system accepts: readable characters, then a hash that keeps names distinct. */
export function fileName({ issue_ref, run_id }: OutboxKey): string {
  const slug = `${issue_ref}-${run_id}`.replace(/[^A-Za-z0-9]+/g, '-').slice(0, 60)
  return `${slug}-${digestOf([issue_ref, run_id]).slice(0, 16)}`
}
