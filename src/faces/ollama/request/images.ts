import type { ImagePart } from "../../../core/turn.ts";
import type { ImageLoader } from "../../shared/face.ts";
import { loadImage } from "../../shared/load-image.ts";

/** Loads images from base64. The loader finds out the type by the bytes. */
export const loadImages = (given: readonly string[], field: string, images: ImageLoader): Promise<ImagePart[]> =>
  Promise.all(
    given.map((image, index) =>
      loadImage(image.startsWith("data:") ? image : `data:image/png;base64,${image}`, `${field}[${index}]`, images),
    ),
  );
