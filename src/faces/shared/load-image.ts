import { ExcursorError } from "../../core/errors.ts";
import type { ImagePart } from "../../core/turn.ts";
import type { ImageLoader } from "./face.ts";

export async function loadImage(url: string, field: string, images: ImageLoader): Promise<ImagePart> {
  try {
    return await images.load(url);
  } catch (thrown) {
    throw ExcursorError.from(thrown).with({ field });
  }
}
