import { choosing } from './page-script/choosing.ts'
import { conversation } from './page-script/conversation.ts'
import { elements } from './page-script/elements.ts'
import { eventStream } from './page-script/event-stream.ts'
import { head } from './page-script/head.ts'
import { keys } from './page-script/keys.ts'
import { opening } from './page-script/opening.ts'
import { prose } from './page-script/prose.ts'
import { rawBytes } from './page-script/raw-bytes.ts'
import { runList } from './page-script/run-list.ts'
import { start } from './page-script/start.ts'
import { streams } from './page-script/streams.ts'
import { theme } from './page-script/theme.ts'
import { words } from './page-script/words.ts'

/**
 * What the page does. It stands here as text, because it runs in the browser and the package needs no file
 * beside its code. Text of agents only ever becomes text nodes: there is no innerHTML in it.
 *
 * The parts are one script and share one scope: each may call what another declares, whatever their order.
 * Only `start` acts at once on all of them, so it is the last. A part with a backslash in it is `String.raw`.
 */
export const script = [
  "'use strict'\n",
  elements,
  words,
  prose,
  runList,
  head,
  conversation,
  choosing,
  streams,
  rawBytes,
  eventStream,
  opening,
  keys,
  theme,
  start,
].join('')
