import { choice, optionalText, type ValuesOf } from "../../config/setting.ts";
import type { ClientHeaders } from "../../wire/agent/headers.ts";

/** The settings of every driver of Cursor's backend. */
export const CURSOR_SETTINGS = {
  clientVersion: optionalText(
    "Client version that is sent to the backend. Default: built in.",
    "a version like cli-2026.01.09-231024f",
    (value) => /^[\w.+-]{1,64}$/.test(value),
  ),
  checksum: optionalText(
    "Value of the header x-cursor-checksum, sent unchanged. Default: derived from the account for cursor-legacy, else none.",
    "1 to 512 printable characters without spaces",
    (value) => /^[\x21-\x7e]{1,512}$/.test(value),
  ),
  context: choice(
    ["refuse", "trim"],
    "What to do when a conversation exceeds the model's context window: refuse returns an error, trim drops the oldest turns.",
  ),
};

export type CursorSettings = ValuesOf<typeof CURSOR_SETTINGS>;

export const clientHeaders = ({ clientVersion, checksum }: CursorSettings): ClientHeaders => ({
  ...(clientVersion !== undefined && { clientVersion }),
  ...(checksum !== undefined && { checksum }),
});
