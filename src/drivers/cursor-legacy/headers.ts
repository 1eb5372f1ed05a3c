import { createHash, randomUUID } from "node:crypto";
import { checksum } from "../../wire/agent/checksum.ts";
import { type ClientHeaders, callHeaders } from "../../wire/agent/headers.ts";
import type { AccountCredential } from "../shared/account-credential.ts";
import { TIME_ZONE } from "../shared/time-zone.ts";

const IDE_VERSION = "2.6.21";

/**
 * Returns the headers of the IDE's chat calls. The ids of device and session are derived from the account or its token.
 */
export function legacyHeaders(
  { id, token }: AccountCredential,
  { clientVersion = IDE_VERSION, checksum: fixed }: ClientHeaders = {},
): Readonly<Record<string, string>> {
  const requestId = randomUUID();
  // Stable per account: the backend counts devices by it.
  const device = sha256(id);
  const caller = {
    token: token.reveal(),
    requestId,
    clientType: "ide",
    clientVersion,
    timezone: TIME_ZONE,
    checksum: fixed ?? checksum(device, Date.now()),
    acceptGzip: true,
  } as const;
  return {
    ...callHeaders("run", caller),
    "user-agent": "connect-es/1.6.1",
    "x-cursor-streaming": "true",
    "x-client-key": sha256(token.reveal()),
    "x-session-id": uuidFrom(device),
    "x-amzn-trace-id": `Root=${requestId}`,
  };
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Formats the first half of a digest as a UUID (version 8: application-defined). */
const uuidFrom = (hex: string): string =>
  hex.slice(0, 32).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-8$3-8$4-$5");
