import { isFields } from "./fields.ts";
import { straightMessages } from "./messages.ts";
import { fromResponsesBody } from "./responses-body.ts";
import { customNames, straightChoice, straightTools } from "./tools.ts";

export interface StraightBody {
  readonly body: unknown;
  /** Tools that take free text, and whose calls bring free text. */
  readonly customTools: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * A body in this dialect's own shapes. Cursor, as a client, mixes in those of others: tools without their frame or with
 * Anthropic's, its instructions beside the messages, blocks of calls and results inside them, the items of Responses. What is wrong stays wrong, to be
 * refused by the schema.
 */
export function straighten(body: unknown): StraightBody {
  if (!isFields(body)) return { body, customTools: NONE };
  const own = body["messages"] === undefined && body["input"] !== undefined ? fromResponsesBody(body) : body;
  const { tools, tool_choice, system } = own;
  const messages = straightMessages(own["messages"]);
  const hasSystem = Array.isArray(messages) && (Array.isArray(system) || typeof system === "string");
  return {
    body: {
      ...own,
      messages: hasSystem ? [{ role: "system", content: system }, ...messages] : messages,
      ...(tools !== undefined && { tools: straightTools(tools) }),
      ...(tool_choice !== undefined && { tool_choice: straightChoice(tool_choice) }),
    },
    customTools: customNames(tools),
  };
}
