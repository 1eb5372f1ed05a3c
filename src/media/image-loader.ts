import type { ImagePart } from "../core/turn.ts";
import { readDataUrl } from "./data-url.ts";
import { FETCH_DEFAULTS, type FetchOptions, fetchImage } from "./fetch-image.ts";
import { imageError } from "./image-errors.ts";
import { sniffImage } from "./sniff-image.ts";

export interface ImageLoaderOptions extends Partial<FetchOptions> {
  /** `data`: images must come as data URLs. `fetch`: they may also be fetched from the internet. */
  readonly mode: "data" | "fetch";
  readonly maxBytes?: number;
}

/** Loads the image of a URL. Throws `invalid-request` only. */
export interface ImageLoader {
  load(url: string): Promise<ImagePart>;
}

const MiB = 1024 * 1024;
const MAX_FETCH_BYTES = 10 * MiB;

export function createImageLoader(options: ImageLoaderOptions): ImageLoader {
  const { mode, maxBytes = 5 * MiB } = options;
  const fetchOptions = { ...FETCH_DEFAULTS, ...options, maxBytes: Math.min(maxBytes, MAX_FETCH_BYTES) };
  const read = (url: string): Buffer | Promise<Buffer> => {
    if (/^data:/i.test(url)) return readDataUrl(url, maxBytes);
    if (mode === "fetch") return fetchImage(url, fetchOptions);
    throw imageError("image_url_forbidden", "The gateway does not fetch images. Send the image as a data URL.");
  };
  return {
    async load(url) {
      const data = await read(url);
      const mediaType = sniffImage(data);
      if (mediaType === undefined) throw imageError("image_invalid", "The image is not a PNG, JPEG, GIF or WebP.");
      return { type: "image", mediaType, data };
    },
  };
}
