import { loadConfig } from "../app/load-config.ts";
import { newKey } from "../config/key-file.ts";
import { type ErrorKind, ExcursorError, type ReportedCode } from "../core/errors.ts";
import { isBadPort } from "../core/http/bad-port.ts";
import { askDoor } from "./ask-door.ts";
import { findGateway, type GatewayAddress } from "./gateway-address.ts";

export interface ClientFlags {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly demo: boolean;
}

interface GatewayRequest {
  /** Without one, the method is GET. */
  readonly body?: object;
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A gateway that a command uses over HTTP, as clients do. */
export interface GatewayClient {
  /** Throws the error that the gateway answers with. */
  call(path: string, init?: GatewayRequest): Promise<Response>;
}

/** Runs the work with a running gateway, or with a demo gateway that is stopped afterwards. */
export async function withGateway(flags: ClientFlags, work: (gateway: GatewayClient) => Promise<void>): Promise<void> {
  if (!flags.demo) {
    await work(createClient(await findGateway(flags)));
    return;
  }
  const { openGateway } = await import("../app/open-gateway.ts");
  const loaded = loadConfig({
    flags: { host: "127.0.0.1", port: 0, key: newKey(), logLevel: "silent" },
    environment: process.env,
  });
  const gateway = await openGateway(loaded, { isDemo: true, writeLog: () => {} });
  try {
    await work(createClient(gateway));
  } finally {
    await gateway.close(0);
  }
}

/** A typed URL gets the key, and no redirect does. */
export function createClient({ url, key, door }: GatewayAddress): GatewayClient {
  return {
    async call(path, init) {
      const sendsKey = door?.isKeyGiven ?? true;
      const request = {
        method: init?.body ? "POST" : "GET",
        headers: {
          ...(sendsKey && { authorization: `Bearer ${key.reveal()}` }),
          "content-type": "application/json",
          ...init?.headers,
        },
        ...(init?.body && { body: JSON.stringify(init.body) }),
        ...(init && { signal: init.signal }),
      };
      const sent = door ? askDoor(door.address, path, request) : fetch(url + path, { ...request, redirect: "error" });
      const response = await sent.catch((error: unknown) => {
        if (init?.signal.aborted) throw error;
        if (isBadPort(error)) {
          throw new ExcursorError("bad_port", `${url} has a port that fetch blocks, as browsers do.`, {
            hint: "Start the gateway on another port: excursor serve --port 8787",
            cause: error,
          });
        }
        throw new ExcursorError("no_gateway", [url], { cause: error });
      });
      if (!response.ok) throw await errorOf(response);
      return response;
    },
  };
}

const KINDS: Readonly<Record<number, ErrorKind>> = {
  401: "unauthenticated",
  402: "payment-required",
  403: "forbidden",
  404: "not-found",
  429: "rate-limited",
};

async function errorOf(response: Response): Promise<ExcursorError> {
  const { status } = response;
  const kind = KINDS[status] ?? (status < 500 ? "invalid-request" : "upstream-failed");
  const body: unknown = await response.json().catch(() => undefined);
  return messageError(kind, body) ?? new ExcursorError(kind, `The gateway answered with ${status}.`);
}

/** Returns the error in a body or an event of the gateway; its message includes the hint. */
export function messageError(kind: ErrorKind, body: unknown): ExcursorError | undefined {
  const error = (body as { error?: { message?: unknown; code?: unknown } } | undefined)?.error;
  if (typeof error?.message !== "string") return undefined;
  return new ExcursorError(kind, error.message, {
    hint: null,
    ...(typeof error.code === "string" && { code: error.code as ReportedCode }),
  });
}
