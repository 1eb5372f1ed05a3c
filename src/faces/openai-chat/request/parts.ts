import type { FilePart, ImagePart, TextPart } from "../../../core/turn.ts";
import type { ImageLoader } from "../../shared/face.ts";
import { readFile } from "../../shared/file-part.ts";
import { loadImage } from "../../shared/load-image.ts";
import type { ChatPart } from "../schema.ts";

export type Content = string | readonly ChatPart[];

/** Loads the parts of a message; synchronous if all are text, as most are. Errors name the part's place. */
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

/** Excludes files where the message cannot hold any. */
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

/** True for an image, also if it is sent as a file. */
export const isImage = (part: ChatPart | { readonly type: "refusal" }): boolean =>
  part.type === "image_url" || (part.type === "file" && isImageFile(part));

const isImageFile = ({ file }: Extract<ChatPart, { type: "file" }>): boolean => /^data:image\//i.test(file.file_data);
