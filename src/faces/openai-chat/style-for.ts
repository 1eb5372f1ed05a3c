import type { ThinkingStyle } from "../../core/thinking/thoughts.ts";

/** The style that a client understands, where nobody has said which. */
export const styleFor = (body: unknown, userAgent: string | undefined): ThinkingStyle =>
  isCursor(body, userAgent) ? "tags" : "fields";

/** Cursor shows thinking that stands between tags, and knows no field for it. Only it sends tools without their frame. */
function isCursor(body: unknown, userAgent = ""): boolean {
  if (/\bcursor\b/i.test(userAgent)) return true;
  const { tools } = (body ?? {}) as { readonly tools?: unknown };
  return Array.isArray(tools) && tools.some((tool) => typeof tool?.name === "string");
}
