import { randomUUID } from "node:crypto";
import { isSecretHeader } from "../capture/mask/mask-headers.ts";
import type { CallHead } from "../capture/records.ts";
import type { Secret } from "../core/secret.ts";
import type { HttpTransport } from "../wire/http/http.ts";
import type { IdMap } from "./id-map.ts";

/** The backend that recorded calls are sent to. */
export interface ReplayTarget {
  readonly origin: string;
  readonly transports: { readonly h1: HttpTransport; readonly h2: HttpTransport };
  /** True: pauses of the recorded client are kept. */
  readonly isPaced: boolean;
  /** A call that brings nothing for so long is over. */
  readonly timeoutMs: number;
  /** Returns the headers of a recorded call, with the credential of now and a request id of its own. */
  headersFor(head: CallHead, ids: IdMap): Readonly<Record<string, string>>;
}

/** Headers of the connection or of the body's encoding, which this client sets itself. */
const OWN =
  /^(?:host|connection|content-length|content-encoding|transfer-encoding|te|trailer|upgrade|keep-alive|accept-encoding|connect-accept-encoding|connect-content-encoding|expect|proxy-.*)$/;

/** Secrets are masked in a capture, so only `token` can sign the calls. */
export function headersWith(token: Secret | undefined): ReplayTarget["headersFor"] {
  return ({ headers }, ids) => {
    const sent: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) {
      if (OWN.test(name) || isSecretHeader(name) || name === "x-original-request-id") continue;
      sent[name] = Buffer.from(ids.apply(Buffer.from(value))).toString();
    }
    sent["x-request-id"] = randomUUID();
    if (token) sent["authorization"] = `Bearer ${token.reveal()}`;
    return sent;
  };
}
