import type { IncomingMessage } from "node:http";
import type { Secret } from "../core/secret.ts";
import { SESSION_MS } from "./sessions.ts";

/** Cookies do not know ports, so the name holds it: two gateways on one machine have a session each. */
const nameFor = ({ socket }: IncomingMessage): string => `excursor_ui_${socket.localPort ?? 0}`;

/** Returns the value of the session cookie, if the request has it. */
export function readCookie(request: IncomingMessage): string | undefined {
  const prefix = `${nameFor(request)}=`;
  const pairs = (request.headers.cookie ?? "").split(/; */);
  return pairs.find((pair) => pair.startsWith(prefix))?.slice(prefix.length);
}

/** Returns a `Set-Cookie` header. Not `Secure`: the gateway speaks plain HTTP on loopback. */
export const writeCookie = (request: IncomingMessage, value: Secret): string =>
  `${nameFor(request)}=${value.reveal()}; Path=/ui; Max-Age=${SESSION_MS / 1000}; HttpOnly; SameSite=Strict`;

export const removeCookie = (request: IncomingMessage): string =>
  `${nameFor(request)}=; Path=/ui; Max-Age=0; HttpOnly; SameSite=Strict`;
