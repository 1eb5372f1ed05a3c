import type { ClientMessage, ServerMessage } from "./messages.ts";

/** How often a client sends {@link CLIENT_HEARTBEAT} on an open run. */
export const CLIENT_HEARTBEAT_MS = 5000;

/** How often a client sends {@link execHeartbeat} for each open exec. */
export const EXEC_HEARTBEAT_MS = 3000;

export const CLIENT_HEARTBEAT: ClientMessage = { case: "clientHeartbeat", value: {} };

export const SERVER_HEARTBEAT: ServerMessage = {
  case: "interactionUpdate",
  value: { message: { case: "heartbeat", value: {} } },
};

/** Tells the backend that the client still works on an exec. */
export const execHeartbeat = (id: number): ClientMessage => ({
  case: "execClientControlMessage",
  value: { message: { case: "heartbeat", value: { id } } },
});
