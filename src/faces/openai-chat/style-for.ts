import type { ThinkingStyle } from "../../core/thinking/thoughts.ts";

/** Returns the thinking style that the client understands. */
export const styleFor = (body: unknown, userAgent: string | undefined): ThinkingStyle =>
  isCursor(body, userAgent) ? "tags" : "fields";

/**
 * Cursor shows thinking between tags and knows no field for it. It is recognised by tools without their wrapper, which
 * only it sends.
 */
function isCursor(body: unknown, userAgent = ""): boolean {
  if (/\bcursor\b/i.test(userAgent)) return true;
  const { tools } = (body ?? {}) as { readonly tools?: unknown };
  return Array.isArray(tools) && tools.some((tool) => typeof tool?.name === "string");
}
