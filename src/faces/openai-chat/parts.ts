import type { FilePart, ImagePart, TextPart } from "../../core/turn.ts";
import type { ImageLoader } from "../shared/face.ts";
import { readFile } from "../shared/file-part.ts";
import { loadImage } from "../shared/load-image.ts";
import type { ChatPart } from "./schema.ts";

export type Content = string | readonly ChatPart[];

/**
 * The parts of a message with the bytes they stand for, at once where there are none to wait for: histories are long, and
 * nearly all text. What is wrong with a part is told with its place.
 */
export function loadParts<T extends ChatPart>(
  content: string | readonly T[],
  field: string,
  images: ImageLoader,
): Loaded<T>[] | Promise<Loaded<T>[]> {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const parts: readonly ChatPart[] = content;
  if (parts.every(isText)) return parts.filter(({ text }) => text !== "");
  const loading = parts.flatMap((part, index) =>
    isText(part) && part.text === "" ? [] : [loadPart(part, `${field}[${index}]`, images)],
  );
  return Promise.all(loading) as Promise<Loaded<T>[]>;
}

const isText = (part: ChatPart): part is Extract<ChatPart, { type: "text" }> => part.type === "text";

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
      if (isImageFile(part)) return loadImage(file_data, where, images);
      return readFile(filename || "file", file_data, where);
    }
    default:
      return part satisfies never;
  }
}

/** Whether it is one for the model's eyes, whatever it is sent as. */
export const isImage = (part: ChatPart | { readonly type: "refusal" }): boolean =>
  part.type === "image_url" || (part.type === "file" && isImageFile(part));

const isImageFile = ({ file }: Extract<ChatPart, { type: "file" }>): boolean => /^data:image\//i.test(file.file_data);
