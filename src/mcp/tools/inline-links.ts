import type { CallToolResult, ContentBlock, ReadResourceResult } from "@modelcontextprotocol/client";

type Contents = ReadResourceResult["contents"];
type ResourceLink = Extract<ContentBlock, { readonly type: "resource_link" }>;

/** How many links of a result are read, and how much of their text is passed on. */
const MAX_LINKS = 4;
const MAX_CHARS = 256 * 1024;

/** Adds the linked content after each link of a result. If a link cannot be read, adds the reason. */
export async function inlineLinks(
  result: CallToolResult,
  read: (uri: string) => Promise<Contents>,
): Promise<CallToolResult> {
  const content: ContentBlock[] = [];
  let links = 0;
  let leftChars = MAX_CHARS;
  for (const block of result.content ?? []) {
    content.push(block);
    if (block.type !== "resource_link" || ++links > MAX_LINKS) continue;
    for (const resource of await contentsOf(block, read)) {
      const whole = "text" in resource ? resource.text : resource.blob;
      if ("blob" in resource && whole.length > leftChars) continue;
      const text = whole.length > leftChars ? `${whole.slice(0, leftChars)}\n[cut off here]` : whole;
      leftChars -= Math.min(leftChars, whole.length);
      content.push({ type: "resource", resource: "text" in resource ? { ...resource, text } : resource });
    }
  }
  return links === 0 ? result : { ...result, content };
}

async function contentsOf({ uri }: ResourceLink, read: (uri: string) => Promise<Contents>): Promise<Contents> {
  try {
    return await read(uri);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/\s+/g, " ").slice(0, 200) : "unknown reason";
    return [{ uri, text: `[${uri} could not be read: ${reason}]` }];
  }
}
