import type { FilePart, ImagePart, TextPart } from "../../core/turn.ts";
import type { ImageLoader } from "../face.ts";
import { readFile } from "../file-part.ts";
import { loadImage } from "../load-image.ts";
import type { ChatPart } from "./schema.ts";

export type Content = string | readonly ChatPart[];

/** The parts of a message with the bytes they stand for. What is wrong with one is told with its place. */
export async function loadParts<T extends ChatPart>(
  content: string | readonly T[],
  field: string,
  images: ImageLoader,
): Promise<Loaded<T>[]> {
  const parts: readonly ChatPart[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const loading = parts.flatMap((part, index) =>
    part.type === "text" && part.text === "" ? [] : [loadPart(part, `${field}[${index}]`, images)],
  );
  return (await Promise.all(loading)) as Loaded<T>[];
}

/** A message that may not hold files gives none. */
type Loaded<T extends ChatPart> = TextPart | ImagePart | (T extends { type: "file" } ? FilePart : never);

async function loadPart(part: ChatPart, field: string, images: ImageLoader): Promise<TextPart | ImagePart | FilePart> {
  switch (part.type) {
    case "text":
      return part;
    case "image_url":
      return typeof part.image_url === "string"
        ? loadImage(part.image_url, `${field}.image_url`, images)
        : loadImage(part.image_url.url, `${field}.image_url.url`, images);
    case "file": {
      const { filename, file_data } = part.file;
      const where = `${field}.file.file_data`;
      if (/^data:image\//i.test(file_data)) return loadImage(file_data, where, images);
      return readFile(filename || "file", file_data, where);
    }
    default:
      return part satisfies never;
  }
}
