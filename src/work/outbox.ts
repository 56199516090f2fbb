import { createHash } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../base/fault.ts'
import { appendLine, writeWhole } from '../sinks/durable.ts'

/** Who a comment belongs to: a run has one comment on its issue. */
export interface PostKey {
  readonly issue_ref: string
  readonly run_id: string
}

/** What is posted or archived. Two results are the same if their digests are. */
export interface Post extends PostKey {
  /** A hash of what the result says, and for a comment the state it tells: `4f2c…-ok`. Keep it whole. */
  readonly digest: string
  /** The rendered comment. */
  readonly comment: string
  /** The settled work, for the archive. */
  readonly work: unknown
}

/**
 * Where results are written back to. Three functions, so that any tracker can be plugged in.
 *
 * `post` must be idempotent by `issue_ref` + `run_id`: if there is a comment of that run already, it
 * changes nothing and answers with its digest.
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
  find(key: PostKey): Promise<string | undefined>
  /** Posts a comment, or answers with the digest of the one that was faster. */
  post(post: Post): Promise<string | undefined>
  /** Keeps a result aside, without a comment. */
  archive(post: Post): Promise<void>
}

/**
 * An outbox in a directory: `comments/` has one file per run, `archive/` what does not count, and
 * `journal.jsonl` one line for each. A comment is there whole or not at all, and the first process to give
 * it its name wins. After a crash between comment and journal, the next attempt adds the missing line; in a
 * race it may stand there twice, with the same `id`.
 *
 * @example
 * await work(order, { worker: 'json-cli', command: ['./worker'], outbox: outbox('.outbox') })
 */
export function outbox(dir: string): Outbox {
  const journal = join(dir, 'journal.jsonl')
  const place = (key: PostKey) => join(dir, 'comments', `${fileName(key)}.md`)

  async function standing(key: PostKey): Promise<string | undefined> {
    const text = await readFile(place(key), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw new Fault('OUTBOX_FAILED', `the comment of ${key.run_id} cannot be read`, { cause: error })
    })
    return text === undefined ? undefined : (head.exec(text.slice(0, 200))?.[1] ?? 'unknown')
  }

  /** Writes a file under a free name, then its line. False if the name was taken. */
  async function keep(kind: 'comment' | 'archive', post: Post, path: string, text: string): Promise<boolean> {
    try {
      const won = await writeWhole(path, text, true)
      if (won) await record(kind, post)
      return won
    } catch (error) {
      throw new Fault('OUTBOX_FAILED', `the outbox cannot keep the result of ${post.run_id}`, {
        cause: error,
      })
    }
  }

  async function record(kind: 'comment' | 'archive', { issue_ref, run_id, digest }: Posted): Promise<void> {
    const id = idOf(kind, { issue_ref, run_id, digest })
    const entry = { id, kind, ts: new Date().toISOString(), issue_ref, run_id, digest }
    await appendLine(journal, JSON.stringify(entry))
  }

  /** Adds the line that an attempt before us did not live to write. */
  async function complete(kind: 'comment' | 'archive', posted: Posted): Promise<void> {
    const start = `{"id":"${idOf(kind, posted)}",`
    const file = await open(journal).catch(() => undefined)
    try {
      if (file)
        for await (const line of file.readLines({ autoClose: false })) if (line.startsWith(start)) return
    } finally {
      await file?.close()
    }
    await record(kind, posted)
  }

  return {
    async find(key) {
      const digest = await standing(key)
      if (digest !== undefined) await complete('comment', { ...key, digest })
      return digest
    },
    async post(post) {
      const text = `<!-- sluice-work ${post.digest} -->\n${post.comment}`
      return (await keep('comment', post, place(post), text)) ? undefined : standing(post)
    },
    async archive(post) {
      const path = join(dir, 'archive', `${fileName(post)}-${post.digest.slice(0, 16)}.json`)
      const won = await keep('archive', post, path, `${JSON.stringify(post.work, null, 2)}\n`)
      if (!won) await complete('archive', post)
    },
  }
}

type Posted = PostKey & Pick<Post, 'digest'>

const idOf = (kind: string, posted: Posted) => `${kind}:${fileName(posted)}:${posted.digest.slice(0, 16)}`

const head = /^<!-- sluice-work ([0-9a-f]{64}(?:-[a-z-]{1,20})?) -->\n/

/** A name that any file system takes: what people recognise, then a hash that keeps names apart. */
export function fileName({ issue_ref, run_id }: PostKey): string {
  const slug = `${issue_ref}-${run_id}`.replace(/[^A-Za-z0-9]+/g, '-').slice(0, 60)
  return `${slug}-${digestOf([issue_ref, run_id]).slice(0, 16)}`
}

/** A digest of JSON, the same for the same content. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}
