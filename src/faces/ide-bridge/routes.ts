import { ExcursorError } from "../../core/errors.ts";
import { isAgentModel, readAgentModel } from "../../core/models/agent-models.ts";
import type { JsonValue, Principal } from "../../core/turn.ts";
import type { CallRoute, FaceContext, FaceRequest, FaceRoute } from "../shared/face-module.ts";
import { Composers } from "./composers.ts";
import { createIdeBridgeFace } from "./face.ts";
import {
  agentModel,
  cancelSchema,
  getSessionSchema,
  initSessionSchema,
  logSchema,
  permissionSchema,
  readBody,
} from "./schema.ts";

/** Longest message of the IDE's page that is logged. */
const LOGGED_CHARS = 2000;

export function routes({ engine, limits, stores, log }: FaceContext): readonly FaceRoute[] {
  const composers = new Composers(stores.keyValues("composers"));
  const startedAt = performance.now();
  const commandsOf = async (model: string, principal: Principal) =>
    (await engine.listCommands(model, principal)).map((command) => ({ ...command }));
  const say = (message: string, given: string) => {
    const level = given.toLowerCase();
    log[level === "error" || level === "warn" ? level : "info"]({ from: "ide" }, message.slice(0, LOGGED_CHARS));
  };
  return [
    { type: "turn", path: "/acp/sendMessage", face: createIdeBridgeFace(composers, limits.maxImages) },
    call("GET", "/acp/health", () => ({
      name: "excursor",
      protocol: 1,
      uptimeMs: Math.round(performance.now() - startedAt),
    })),
    call("GET", "/acp/providers", async ({ principal, signal }) => {
      const models = await engine.listModels(principal, signal);
      const agents = models.filter(({ id }) => isAgentModel(id));
      return {
        providers: agents.map(({ id, displayName, supportsImages, isThinking }) => ({
          id: readAgentModel(id)[0],
          displayName,
          model: id,
          capabilities: { supportsAgent: true, supportsImages, supportsThinking: isThinking },
        })),
      };
    }),
    call("POST", "/acp/initSession", async ({ body, principal }) => {
      const { provider, composerId = crypto.randomUUID() } = readBody(initSessionSchema, body);
      const commands = await commandsOf(provider, principal);
      return { sessionId: composers.sessionOf(principal, composerId), composerId, commands };
    }),
    call("POST", "/acp/getSession", ({ body, principal }) => {
      const { composerId } = readBody(getSessionSchema, body);
      return { sessionId: composers.sessionOf(principal, composerId) };
    }),
    call("GET", "/acp/getSlashCommands", ({ query, principal }) =>
      commandsOf(agentModel(query.get("providerId") ?? ""), principal),
    ),
    call("POST", "/acp/cancel", ({ body, principal }) => ({
      cancelled: composers.cancel(principal, readBody(cancelSchema, body).composerId),
    })),
    call("POST", "/acp/permission", ({ body, principal }) => {
      const { requestId, optionId, cancelled } = readBody(permissionSchema, body);
      if (composers.answer(principal, requestId, cancelled ? undefined : optionId)) return { ok: true };
      throw new ExcursorError("not-found", "requestId: no open question has this id.", { field: "requestId" });
    }),
    call("DELETE", "/acp/session/{id}", ({ path: { id = "" }, principal }) => ({
      deleted: composers.forget(principal, id),
    })),
    call("POST", "/acp/log", ({ body }) => {
      const { level, message } = readBody(logSchema, body);
      say(message, level);
      return { ok: true };
    }),
    call("GET", "/acp/debug", ({ query }) => {
      say(query.get("msg") ?? "", "info");
      return { ok: true };
    }),
  ];
}

const call = (
  method: CallRoute["method"],
  path: string,
  answer: (request: FaceRequest) => JsonValue | Promise<JsonValue>,
): CallRoute => ({ type: "call", method, path, handle: async (request) => ({ body: await answer(request) }) });
