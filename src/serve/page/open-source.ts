import { EMBEDDED_ID, type EmbeddedData } from './embedded.ts'
import { embeddedSource } from './embedded-source.ts'
import { httpSource } from './http-source.ts'
import type { Source } from './source.ts'

/** The data in the document if there is any, else the server. */
export function openSource(): Source {
  const element = document.getElementById(EMBEDDED_ID)
  // Cast: an exporter wrote it with this type.
  return element ? embeddedSource(JSON.parse(element.textContent ?? '') as EmbeddedData) : httpSource()
}
