import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import type { HubResult } from "../../core/hub/tool-hub.ts";
import type { ImagePart, TextPart } from "../../core/turn.ts";
import { HUB_LIMITS } from "../limits.ts";

/** Converts a tool's result for the model. Content that cannot be passed on is replaced by a note. */
export function readToolResult({ content, structuredContent, isError }: CallToolResult): HubResult {
  const parts = (content ?? []).map(readBlock);
  // Servers should also send it as text, but some do not.
  if (parts.length === 0 && structuredContent !== undefined) parts.push(text(JSON.stringify(structuredContent)));
  return { content: parts, isError: isError === true };
}

export const errorResult = (message: string): HubResult => ({ content: [text(message)], isError: true });

function readBlock(block: ContentBlock): TextPart | ImagePart {
  switch (block.type) {
    case "text":
      return text(block.text);
    case "image":
      return image(block.mimeType, block.data);
    case "audio":
      return text(`[audio, ${block.mimeType}: it cannot be passed on]`);
    case "resource_link":
      return text(`[${block.title ?? block.name}: ${block.uri}]${block.description ? ` ${block.description}` : ""}`);
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return text(resource.text);
      const type = resource.mimeType ?? "";
      return type.startsWith("image/")
        ? image(type, resource.blob)
        : text(`[${resource.uri}, ${type || "unknown type"}: it cannot be passed on]`);
    }
    default:
      return text(JSON.stringify(block));
  }
}

function image(mediaType: string, base64: string): TextPart | ImagePart {
  const data = Buffer.from(base64, "base64");
  if (data.length <= HUB_LIMITS.imageBytes) return { type: "image", mediaType, data };
  return text(`[an image of ${data.length} bytes: it is too large to be passed on]`);
}

const text = (value: string): TextPart => ({ type: "text", text: value });
