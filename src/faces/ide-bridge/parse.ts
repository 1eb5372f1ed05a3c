import type { Message, Principal, Turn, UserPart } from "../../core/turn.ts";
import { invalid } from "../shared/errors/invalid.ts";
import type { ImageLoader } from "../shared/face.ts";
import { loadImage } from "../shared/load-image.ts";
import { type Block, dataUrl, type Reference, type SendMessage } from "./schema.ts";

/** Returns the parts of the user's message. Files are referred to by name; the agent reads them. */
export async function readContent(
  { message, images, references }: Pick<SendMessage, "message" | "images" | "references">,
  loader: ImageLoader,
  maxImages: number,
): Promise<readonly UserPart[]> {
  const blocks: readonly Block[] = typeof message === "string" ? [{ type: "text", text: message }] : message;
  const count = images.length + blocks.filter(({ type }) => type === "image").length;
  if (count > maxImages) throw invalid("images", `expected at most ${maxImages} images, got ${count}`);
  const shown = await Promise.all(images.map((url, index) => loadImage(url, `images[${index}]`, loader)));
  const said = await Promise.all(blocks.map((block, index) => partOf(block, `message[${index}]`, loader)));
  return [...references.map(attached), ...shown, ...said];
}

/** Returns the turn for a request; `messages` is the conversation with the newest message. */
export const toTurn = (
  { provider, modelId, stream }: SendMessage,
  principal: Principal,
  messages: readonly Message[],
): Turn => ({
  principal,
  model: { id: modelId === undefined ? provider : `${provider}/${modelId}`, effort: undefined },
  system: "",
  messages,
  tools: [],
  toolChoice: { type: "auto" },
  allowsParallelCalls: true,
  stop: [],
  maxOutputTokens: undefined,
  output: { type: "text" },
  // A client that waits for the whole answer would see a question too late.
  showsActivity: stream,
});

async function partOf(block: Block, field: string, loader: ImageLoader): Promise<UserPart> {
  switch (block.type) {
    case "text":
      return block;
    case "image":
      return loadImage(dataUrl(block.mimeType, block.data), `${field}.data`, loader);
    case "resource":
      return { type: "file", name: block.resource.uri, text: block.resource.text };
    case "resource_link":
      return link(block.uri, block.name);
    default:
      return block satisfies never;
  }
}

function attached({ uri, name, text, range }: Reference): UserPart {
  const lines = range === undefined ? "" : `#L${range[0]}-L${range[1]}`;
  return text === undefined ? link(uri, name, lines) : { type: "file", name: uri + lines, text };
}

const link = (uri: string, name = uri.slice(uri.lastIndexOf("/") + 1), lines = ""): UserPart => ({
  type: "text",
  text: `[@${name}](${uri}${lines})\n`,
});
