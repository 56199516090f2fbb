/**
 * How the result of a call begins that was not allowed, by a person, a rule or a policy, per engine. Only the
 * beginning counts: what a tool itself prints comes after words of the engine, or with an exit code.
 */
export const claudeDenial =
  /^(?:Error: )?(?:Claude requested permissions? |Permission (?:to use |for this (?:action|tool use) )|The user doesn't want to (?:proceed with this tool use|take this action)|This (?:Bash )?command (?:requires approval|contains multiple operations))/
export const codexDenial =
  /^(?:(?:exec command|command|patch) )?rejected\b|^exec_command failed.{0,80}Rejected\(/
export const geminiDenial =
  /^(?:Tool execution |Tool ".{1,100}" |Execution )?(?:is |was )?denied by policy|^Command (?:rejected because|'.{1,300}' is blocked|substitution .{1,100} is not allowed)|^Command\(s\) not [io]n the |requires user confirmation, which is not supported in non-interactive/
export const opencodeDenial =
  /^(?:Error: )?The user (?:rejected permission to use|has specified a rule which prevents you from using) this/
/** An interrupted command was not denied. */
export const qwenDenial =
  /^\[Operation Cancelled\] Reason: (?!User cancelled tool execution|Error: Request aborted)|^Qwen Code requires permission to use |^Tool ".{1,100}" is denied/
/** Of engines whose words were not observed. */
export const usualDenial =
  /^(?:Error: )?(?:(?:The )?user (?:has )?(?:denied|rejected|declined)\b|(?:Tool|Command|Permission|Operation|Request)\b.{0,60} (?:denied|rejected|declined) by (?:the )?(?:user|policy|rule|hook|admin))/i

/** Agents of the Agent Client Protocol pass on the words of their own tools. */
export const anyDenial: Pick<RegExp, 'test'> = {
  test: (words) =>
    [claudeDenial, codexDenial, geminiDenial, opencodeDenial, qwenDenial, usualDenial].some((one) =>
      one.test(words),
    ),
}
