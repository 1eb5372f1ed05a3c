import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { UserMessage, UserPart } from "../../core/turn.ts";

/** Turns an editor's prompt into a message. Blocks that a model cannot be shown are named in the text. */
export const promptMessage = (blocks: readonly ContentBlock[]): UserMessage => ({
  role: "user",
  content: blocks.map(partOf),
});

function partOf(block: ContentBlock): UserPart {
  switch (block.type) {
    case "text":
      return text(block.text);
    case "image":
      return { type: "image", mediaType: block.mimeType, data: Buffer.from(block.data, "base64") };
    case "resource":
      if ("text" in block.resource) return { type: "file", name: block.resource.uri, text: block.resource.text };
      return text(`[A file that is not text: ${block.resource.uri}]`);
    case "resource_link":
      return text(`[${block.name}](${block.uri})`);
    case "audio":
      return text("[A sound, which cannot be heard]");
    default:
      return block satisfies never;
  }
}

const text = (words: string): UserPart => ({ type: "text", text: words });
