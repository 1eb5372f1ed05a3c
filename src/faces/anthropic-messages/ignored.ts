import { type Body, valueIn } from "../shared/unsupported-fields.ts";

/** Fields that would change the answer but have no effect here. They are accepted and reported as ignored. */
const IGNORED = ["container", "context_management", "mcp_servers", "speed"] as const;

export const ignoredFields = (body: Body): readonly string[] =>
  IGNORED.filter((field) => valueIn(body, field) !== undefined);
