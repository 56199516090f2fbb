/**
 * Calls `make` so that errors it makes or throws have no stack trace. To take one costs more than to read a line,
 * and hostile input makes an error of every line. Only for errors that are data, or that are caught at once.
 *
 * @example
 * try { return withoutStack(JSON.parse, text) } catch { return undefined }
 */
export function withoutStack<In, Out>(make: (input: In) => Out, input: In): Out {
  if (!isWritable) return make(input)
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return make(input)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** It is not where the intrinsics are frozen. */
const isWritable = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit')?.writable === true
