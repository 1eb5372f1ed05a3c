import { isJsonObject } from "../../../core/json/is-json-object.ts";
import { normaliseMessages } from "./messages.ts";
import { fromResponsesBody } from "./responses-body.ts";
import { customNames, normaliseChoice, normaliseTools } from "./tools.ts";

export interface NormalisedBody {
  readonly body: unknown;
  /** The names of tools that take free text instead of JSON. */
  readonly customTools: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Normalises a body that mixes in shapes of other dialects, as Cursor sends as a client: tools without their wrapper or
 * with Anthropic's, `system` beside the messages, blocks of calls and results, Responses items. Invalid values stay,
 * and the schema rejects them.
 */
export function normalise(body: unknown): NormalisedBody {
  if (!isJsonObject(body)) return { body, customTools: NONE };
  const own = body["messages"] === undefined && body["input"] !== undefined ? fromResponsesBody(body) : body;
  const { tools, tool_choice, system } = own;
  const messages = normaliseMessages(own["messages"]);
  const hasSystem = Array.isArray(messages) && (Array.isArray(system) || typeof system === "string");
  return {
    body: {
      ...own,
      messages: hasSystem ? [{ role: "system", content: system }, ...messages] : messages,
      ...(tools !== undefined && { tools: normaliseTools(tools) }),
      ...(tool_choice !== undefined && { tool_choice: normaliseChoice(tool_choice) }),
    },
    customTools: customNames(tools),
  };
}
