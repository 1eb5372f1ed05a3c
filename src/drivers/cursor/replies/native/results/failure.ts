import { type ToolMessage, textOf } from "../../../../../core/turn.ts";

/** Returns the error of a failed result. Many dialects cannot mark a failure, so the text decides. */
export function failureOf(said: ToolMessage): string | undefined {
  const text = textOf(said.content);
  if (
    !said.isError &&
    !/^\s*(?:<tool_use_error>|(?:tool )?error(?:$|:| \w+ing\b)|failed to \w|\w+ execution failed\b)/.test(
      text.toLowerCase(),
    )
  )
    return undefined;
  return text.replace(/^\s*<tool_use_error>([\s\S]*)<\/tool_use_error>\s*$/, "$1") || "The tool failed.";
}

const MISSING = /\bENOENT\b|\bnot ?found\b|\bno such file\b|\b(?:does not|doesn't) exist\b|\bcould not find\b/i;

/** Returns whether a failure means that there is no such file. */
export const saysMissing = (failure: string): boolean => MISSING.test(failure);
