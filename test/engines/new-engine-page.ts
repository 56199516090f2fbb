import { readFileSync } from 'node:fs'

/** docs/new-engine.md, which the tests follow. */
export const page = readFileSync('docs/new-engine.md', 'utf8')

/** The files of the page: a path in backticks on its own line, then a fence with the content. */
export const files = [...page.matchAll(/^`([^`\n]+)`\n\n```\w*\n([\s\S]*?)^```$/gm)].map(
  ([, path, content]) => ({
    path: path!,
    content: content!,
  }),
)

/** The conversation that the page shows. */
export const conversation = /```jsonl\n([\s\S]*?)```/
  .exec(page)![1]!
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
