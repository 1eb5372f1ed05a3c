import type { ThinkingStyle } from "../../../core/thinking/thoughts.ts";

export const styleFor = (body: unknown, userAgent: string | undefined): ThinkingStyle =>
  isCursor(body, userAgent) ? "tags" : "fields";

/** Cursor needs thinking between tags. Only Cursor sends tools without their wrapper. */
function isCursor(body: unknown, userAgent = ""): boolean {
  if (/\bcursor\b/i.test(userAgent)) return true;
  const { tools } = (body ?? {}) as { readonly tools?: unknown };
  return Array.isArray(tools) && tools.some((tool) => typeof tool?.name === "string");
}
