import type { Engine } from '../../events/engine.ts'
import { calls, pathOf, sayChange } from '../calls.ts'
import { table } from '../record-table.ts'
import { turns } from '../session-turns.ts'
import { agentOf, diffOf, sayEnd, sayPrompt, saySession, startOf, tokensIn, tools } from './copilot.ts'

/**
 * GitHub Copilot CLI's session files (`session-state/<session>/events.jsonl` in its home): the permanent
 * lines of stdout, with the session at the start and without the result at the end. A shutdown is routine
 * after a failure, too, so the end of a session that did not fail is unknown.
 */
export const copilotSession: Engine = /* @__PURE__ */ table({
  name: 'copilot',
  parser: 'copilot_session',
  growing: true,
  tools,
  cut: { stdout: 'records' },
  about: 'session file: session-state/*/events.jsonl; 1.0',
  // Only the file begins with the start of the session; stdout has lines of the same types.
  shape: 'type=session.start id:text data.sessionId:text data.copilotVersion:text',
  later: 'type:text id:text data:record',
  state: () => ({ begun: calls(), turn: turns() }),
  of: 'data',
  fields: '*',
  quiet:
    'system.message session.resume session.shutdown session.info assistant.turn_start assistant.turn_end ' +
    'session.mode_changed',
  on: {
    'session.start': saySession,
    'session.model_change'(data, say) {
      const model = data.text('newModel')
      if (model !== undefined) say.status('configured', { model })
    },
    'session.usage_record'(data, say) {
      const usage = data.record('usage')?.values
      if (usage) say.status('usage', { usage, tokens: tokensIn(usage) })
    },
    'user.message'(data, say, { turn }, line) {
      // The prompt of a subagent.
      if (agentOf(line) !== undefined) return
      sayPrompt(data, say)
      turn.begin(say)
    },
    'assistant.message': {
      fields: 'messageId:text content:text reasoningText:text',
      read(data, say, { turn }, line) {
        const parent = agentOf(line)
        if (parent === undefined) turn.goOn(say)
        const id = data.text('messageId')
        const thoughts = data.text('reasoningText')
        const words = data.text('content')
        if (thoughts) say.reasoning(id, thoughts)
        if (words) say.message(id, words, { parent })
      },
    },
    'tool.execution_start': {
      fields: 'toolCallId:text toolName:text',
      read(data, say, { begun }, line) {
        const call = startOf(data, line)
        begun.begun(call.id, call.name, { file_path: pathOf(call.input) })
        say.started(call)
      },
    },
    'tool.execution_complete': {
      fields: 'toolCallId:text success:flag shellExecution:record result:record',
      read(data, say, { begun }, line) {
        const known = begun.ended(data.text('toolCallId') ?? '')
        if (sayEnd(data, known?.name, line, say) && known)
          sayChange(known.name, known.path, { fileDiff: diffOf(data) }, say)
      },
    },
    'session.error': (data, say, { turn }) => turn.fail(data.text('message') ?? 'the session failed', say),
    abort: (data, say, { turn }) => turn.fail(`aborted: ${data.text('reason') ?? 'no reason given'}`, say),
    'session.compaction_complete': (_, say) => say.status('compacted'),
  },
})
