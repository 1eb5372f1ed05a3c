import type { ErrorCode } from "../core/error-codes.ts";
import { ExcursorError } from "../core/errors.ts";

/** The ways in which an image can be refused. The face adds the position in the request. */
type ImageErrorCode = Extract<ErrorCode, `image_${string}`>;

/** `reason` is only logged. */
export function imageError(code: ImageErrorCode, message: string, reason?: string): ExcursorError {
  return new ExcursorError(code, message, reason ? { context: { reason } } : {});
}

export function tooLarge(maxBytes: number): ExcursorError {
  const size = maxBytes % MiB === 0 ? `${maxBytes / MiB} MiB` : `${maxBytes} bytes`;
  return imageError("image_too_large", `The image is larger than ${size}.`);
}

const MiB = 1024 * 1024;

/**
 * The only error for any network failure. Reveals no address, port or status, so that a client cannot probe the
 * network.
 */
export const fetchFailed = (host: string, reason: string): ExcursorError =>
  imageError("image_fetch_failed", `The image at ${host.slice(0, 100)} could not be fetched.`, reason);
