import type { ChatRequest, GenerateRequest } from "./schema.ts";

/** Why Ollama ends an answer without a question. */
export type LoadReason = "load" | "unload";

/** Returns what a request without a question asks for: to load its model, or with `keep_alive: 0` to unload it. */
export function loadReason(request: ChatRequest | GenerateRequest): LoadReason | undefined {
  const isQuestion = "messages" in request ? request.messages.length > 0 : request.prompt !== "";
  if (isQuestion) return undefined;
  return isZero(request.keep_alive) ? "unload" : "load";
}

/** A number of seconds, or a duration such as `0m`. */
const isZero = (keepAlive: unknown): boolean =>
  keepAlive === 0 || (typeof keepAlive === "string" && /^0+(?:\.0*)?(?:ns|us|µs|ms|s|m|h)?$/.test(keepAlive));
