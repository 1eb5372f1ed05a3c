type Body = Readonly<Record<string, unknown>>;

/** Fields that would change the answer and cannot: they are taken and told to the client as ignored. */
const IGNORED = ["container", "context_management", "mcp_servers", "speed"] as const;

export const ignoredFields = (body: Body): readonly string[] =>
  IGNORED.filter((field) => Object.hasOwn(body, field) && body[field] != null);
