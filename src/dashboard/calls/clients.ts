import type { Call } from "../call.ts";
import type { ClientsReply, DiffReply } from "../messages.ts";

/** The programs that can use the gateway. Nothing here changes their files. */
export interface ClientSources {
  list(): Promise<ClientsReply>;
  /** Returns what `excursor connect` would change. */
  diff(client: string, signal: AbortSignal): Promise<DiffReply>;
}

/** The calls of the page Connect. */
export const clientCalls = (clients: ClientSources): readonly Call[] => [
  { method: "GET", path: "/clients", handle: () => clients.list() },
  { method: "GET", path: "/clients/{id}", handle: ({ path: { id = "" }, signal }) => clients.diff(id, signal) },
];
