import { ExcursorError } from "../core/errors.ts";
import { knowsPeers } from "../server/gate/peer-user.ts";
import { startGateway } from "../server/gateway.ts";
import type { Gateway, GatewayOptions } from "../server/gateway-options.ts";
import { OLLAMA_FACES } from "./faces.ts";

export type OllamaOptions = Pick<
  GatewayOptions,
  | "port"
  | "key"
  | "hopId"
  | "limits"
  | "admission"
  | "engine"
  | "faceContext"
  | "usage"
  | "metrics"
  | "traces"
  | "clientTap"
  | "log"
  | "redactor"
>;

/**
 * Starts the listener for Ollama's clients that cannot send a key: on loopback, for programs of the same user. Throws
 * where the system does not tell the user of a connection (SEC-45).
 */
export async function startOllama(options: OllamaOptions): Promise<Gateway> {
  if (!knowsPeers()) throw unknownPeers();
  try {
    return await startGateway({
      ...options,
      host: "127.0.0.1",
      allowsTokens: false,
      hosts: [],
      origins: [],
      trustsUser: true,
      faces: OLLAMA_FACES,
    });
  } catch (thrown) {
    const error = ExcursorError.from(thrown);
    throw error.code === "port_taken" ? error.with({ hint: PORT_TAKEN }) : error;
  }
}

const PORT_TAKEN = "Ollama itself may be running. Stop it, or choose another port with --ollama-port N.";

const unknownPeers = (): ExcursorError => new ExcursorError("unknown_peers");
