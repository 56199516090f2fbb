import { expect, test } from 'vitest'
import { hidingOf } from '../../src/serve/redact-served.ts'
import type { RunInfo } from '../../src/serve/run-info.ts'

const token = 'ghp_Zq7Xw2Vb9Nk4Jt6Hs8Rd3Mf5Lc1PyGuEoAi0'

test('no text of a run in the list has a secret', () => {
  const text = `use ${token} for it`
  const texts = { argv: ['codex', text], task: text, problem: text, waits_for: text }
  // Cast: the texts alone matter here.
  const info = hidingOf(true)!.info({ id: 'r', engine: 'codex', ...texts } as unknown as RunInfo)
  expect(JSON.stringify(info)).not.toContain(token)
  expect(info).toMatchObject({ id: 'r', raw_hidden: true, argv: ['codex', info.task], problem: info.task })
  expect(info.task).toMatch(/^use .* for it$/)
  expect(hidingOf(true)!.info({ argv: [], task: null } as unknown as RunInfo).task).toBeNull()
})
