type Body = Readonly<Record<string, unknown>>;

/** Fields that would change the answer and cannot: they are taken and told to the client as ignored. */
const IGNORED = ["temperature", "top_p", "top_k", "container", "context_management", "mcp_servers", "speed"] as const;

/** Wishes about tools that a model may be asked for and cannot be held to. */
const IS_WISH: Readonly<Record<string, (choice: Body) => boolean>> = {
  tool_choice: ({ type }) => type === "any" || type === "tool",
  "tool_choice.disable_parallel_tool_use": ({ disable_parallel_tool_use: isSet }) => isSet === true,
};

export function ignoredFields(body: Body): readonly string[] {
  const choice = body["tool_choice"] as Body | null | undefined;
  const wishes = choice ? Object.keys(IS_WISH).filter((field) => IS_WISH[field]?.(choice)) : [];
  return [...IGNORED.filter((field) => Object.hasOwn(body, field) && body[field] != null), ...wishes];
}
