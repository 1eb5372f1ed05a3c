import type { FilePart, ImagePart, TextPart } from "../../../core/turn.ts";
import type { ImageLoader } from "../../shared/face.ts";
import { readFile } from "../../shared/file-part.ts";
import { loadImage } from "../../shared/load-image.ts";
import type { ResultBlock, ToolResultBlock, UserBlock } from "../schema.ts";

/** A block of a user message that is not a tool result. */
export type ShownBlock = Exclude<UserBlock, ToolResultBlock>;

type ImageBlock = Extract<ShownBlock, { type: "image" }>;
type DocumentBlock = Extract<ShownBlock, { type: "document" }>;
type SearchResultBlock = Extract<ShownBlock, { type: "search_result" }>;

/** Returns undefined for an empty text. */
export async function loadShown(
  block: ShownBlock,
  field: string,
  images: ImageLoader,
): Promise<TextPart | ImagePart | FilePart | undefined> {
  switch (block.type) {
    case "text":
      return textPart(block.text);
    case "image":
      return loadImageBlock(block, field, images);
    case "document":
      return readDocument(block, field);
    case "search_result":
      return textPart(searchText(block));
    default:
      return block satisfies never;
  }
}

/** Loads a block of a tool result, which can hold only text and images: files become text. */
export async function loadResult(
  block: ResultBlock,
  field: string,
  images: ImageLoader,
): Promise<TextPart | ImagePart | undefined> {
  if (block.type === "tool_reference") return textPart(`The tool ${block.tool_name} can be used from here on.`);
  const part = await loadShown(block, field, images);
  return part?.type === "file" ? textPart(`${part.name}\n\n${part.text}`) : part;
}

export const textPart = (text: string): TextPart | undefined => (text === "" ? undefined : { type: "text", text });

function loadImageBlock({ source }: ImageBlock, field: string, images: ImageLoader): Promise<ImagePart> {
  switch (source.type) {
    case "base64":
      return loadImage(`data:${source.media_type};base64,${source.data}`, `${field}.source.data`, images);
    case "url":
      return loadImage(source.url, `${field}.source.url`, images);
    case "file":
      return source.file_id;
    default:
      return source satisfies never;
  }
}

function readDocument({ title, source }: DocumentBlock, field: string): FilePart {
  const name = title || "document";
  switch (source.type) {
    case "text":
      return { type: "file", name, text: source.data };
    case "base64":
      return readFile(name, `data:${source.media_type};base64,${source.data}`, `${field}.source.data`);
    case "content":
      return { type: "file", name, text: joinTexts(source.content) };
    case "url":
      return source.url;
    case "file":
      return source.file_id;
    default:
      return source satisfies never;
  }
}

const searchText = ({ title, source, content }: SearchResultBlock): string =>
  `${title}\n${source}\n\n${joinTexts(content)}`;

export const joinTexts = (content: string | readonly { readonly text: string }[]): string =>
  typeof content === "string" ? content : content.map(({ text }) => text).join("\n");
