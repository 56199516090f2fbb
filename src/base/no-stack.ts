/**
 * Calls `make` with stack traces off, so that errors it creates or throws have none. Taking a trace costs
 * more than reading a line, and hostile input creates an error for every line. Only for errors that are data,
 * or that are caught at once.
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

/** False where the intrinsics are frozen. */
const isWritable = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit')?.writable === true
