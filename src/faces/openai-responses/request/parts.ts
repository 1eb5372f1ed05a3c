import type { FilePart, ImagePart, TextPart } from "../../../core/turn.ts";
import type { ImageLoader } from "../../shared/face.ts";
import { readFile } from "../../shared/file-part.ts";
import { loadImage } from "../../shared/load-image.ts";
import type { Content, ContentPart } from "./item-schema.ts";

export async function loadParts(
  content: Content,
  field: string,
  images: ImageLoader,
): Promise<(TextPart | ImagePart | FilePart)[]> {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const loading = content.map((part, index) => loadPart(part, `${field}[${index}]`, images));
  return (await Promise.all(loading)).filter((part) => part.type !== "text" || part.text !== "");
}

async function loadPart(
  part: ContentPart,
  field: string,
  images: ImageLoader,
): Promise<TextPart | ImagePart | FilePart> {
  switch (part.type) {
    case "input_image":
      return loadImage(part.image_url, `${field}.image_url`, images);
    case "input_file": {
      const where = `${field}.file_data`;
      if (/^data:image\//i.test(part.file_data)) return loadImage(part.file_data, where, images);
      return readFile(part.filename || "file", part.file_data, where);
    }
    default:
      return { type: "text", text: textOfPart(part) };
  }
}

/** Loads a tool's output, in which files become text. */
export async function loadResult(
  content: Content,
  field: string,
  images: ImageLoader,
): Promise<(TextPart | ImagePart)[]> {
  const parts = await loadParts(content, field, images);
  return parts.map((part) => (part.type === "file" ? { type: "text", text: part.text } : part));
}

export const partsOf = (content: Content): readonly ContentPart[] =>
  typeof content === "string" ? [{ type: "input_text", text: content }] : content;

/** Returns the texts of a message that can hold only text. */
export const textsOf = (content: Content): readonly string[] =>
  (typeof content === "string" ? [content] : content.map(textOfPart)).filter((text) => text !== "");

function textOfPart(part: ContentPart): string {
  if ("text" in part) return part.text;
  return "refusal" in part ? part.refusal : "";
}
