/** The exit codes of the command. */
export const exits = {
  /** A valid value; a run that completed or waits for input. */
  good: 0,
  /** The run failed. */
  failed: 1,
  /** Invalid options, or a file or schema that cannot be read. */
  usage: 2,
  /** Nothing valid: the schema rejects everything, or there is no match. */
  nothing: 3,
  /** The end is unknown, or the input was cut in the middle of a record. */
  incomplete: 4,
  /** The result of a worker needs a human. */
  needsHuman: 5,
  /** The result of a worker is not of the active run, and is only archived. */
  archived: 6,
  /**
   * Our own output could not be written: stdout or the audit, or the reader of a run left, which ended it.
   */
  output: 7,
} as const
