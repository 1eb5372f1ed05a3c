import { signal } from "@preact/signals";
import type { ErrorReply, SessionReply } from "../src/dashboard/messages.ts";

export type SessionState =
  | { readonly type: "opening" }
  | ({ readonly type: "open" } & SessionReply)
  /** The browser is not signed in. */
  | { readonly type: "none" }
  | { readonly type: "failed"; readonly error: CallError };

/** Whether this browser is signed in. */
export const session = signal<SessionState>({ type: "opening" });

/** An error of the gateway, or of the way to it. */
export class CallError extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, hint?: string) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

const API = "/ui/api";

/**
 * Asks the gateway whether this browser is signed in. While the gateway does not answer, an open page stays open: it may
 * hold what exists nowhere else, such as a new key.
 */
export async function beginSession(): Promise<"open" | "none" | "failed"> {
  try {
    session.value = { type: "open", ...(await get<SessionReply>("/session")) };
    return "open";
  } catch (error) {
    const { type } = session.value;
    if (type === "none") return "none";
    if (type !== "open") session.value = { type: "failed", error: asCallError(error) };
    return "failed";
  }
}

/** Ends the session on the gateway, too. */
export async function endSession(): Promise<void> {
  await remove("/session");
  session.value = { type: "none" };
}

export const get = <T>(path: string): Promise<T> => call<T>("GET", path);
export const post = <T>(path: string, body: object): Promise<T> => call<T>("POST", path, body);
export const remove = <T>(path: string): Promise<T> => call<T>("DELETE", path);

interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Sends a request with the session's token, and returns the response, whatever its status is. */
export async function send(
  method: string,
  path: string,
  body?: object,
  { headers, signal }: SendOptions = {},
): Promise<Response> {
  const state = session.value;
  return await fetch(API + path, {
    method,
    headers: {
      ...headers,
      ...(body && { "content-type": "application/json" }),
      ...(method !== "GET" && state.type === "open" && { "x-excursor-csrf": state.csrf }),
    },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error) => {
    if (signal?.aborted) throw error;
    throw new CallError("unreachable", "The gateway does not answer.", "Is it running? Start it with: excursor serve");
  });
}

async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await send(method, path, body);
  if (response.ok) return (await response.json()) as T;
  const { error } = (await response.json().catch(() => ({}))) as Partial<ErrorReply>;
  if (error?.code === "no_session") session.value = { type: "none" };
  throw new CallError(
    error?.code ?? "",
    error?.message ?? `The gateway answered with ${response.status}.`,
    error?.hint,
  );
}

export const asCallError = (error: unknown): CallError =>
  error instanceof CallError ? error : new CallError("", error instanceof Error ? error.message : String(error));
