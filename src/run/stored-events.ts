import type { Sink, Stage } from '../base/stage.ts'
import type { Journal } from '../disk/journal.ts'
import type { AgentEvent } from '../events/event.ts'

/**
 * Stores events before they are passed on: each alone, or those that one `write` makes at once, which takes
 * longer than making most of them. What the journal must not have is not stored: the end of a run whose
 * reader has left, because the logs may say more than was read.
 */
export function storedEvents<T>(
  book: Journal,
  isLeft: () => boolean,
  each: boolean,
  events: Stage<T, AgentEvent>,
): Stage<T, AgentEvent> {
  return (next) => {
    let made: AgentEvent[] = []
    const store = () => {
      const events = made
      made = []
      if (!isLeft()) book.appendAll(events)
      for (const event of events) next.write(event)
    }
    const inner: Sink<T> = events({
      write(event) {
        made.push(event)
        if (each) store()
      },
      end() {},
    })
    return {
      write(item) {
        try {
          inner.write(item)
        } finally {
          store()
        }
      },
      end() {
        inner.end()
        store()
        if (!isLeft()) book.sync()
        // The meta says that all is stored before somebody else may write.
        next.end()
        if (!isLeft()) book.close()
      },
    }
  }
}
