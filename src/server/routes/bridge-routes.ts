import type { Limits } from "../../config/settings.ts";
import type { SlashCommand } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { JsonObject, JsonValue, Principal } from "../../core/turn.ts";
import { type ComposerMemory, Composers } from "../../faces/ide-bridge/composers.ts";
import { createAcpFace } from "../../faces/ide-bridge/index.ts";
import {
  agentModel,
  cancelSchema,
  getSessionSchema,
  initSessionSchema,
  logSchema,
  permissionSchema,
  readBody,
} from "../../faces/ide-bridge/schema.ts";
import type { Log } from "../../observe/log.ts";
import type { Dialect } from "../dialect.ts";
import type { Exchange } from "../exchange.ts";
import { readJson } from "../read-json.ts";
import type { ModelLister } from "./models-routes.ts";
import type { Route } from "./route.ts";

export interface BridgeEngine extends ModelLister {
  listCommands(model: string, principal: Principal): Promise<readonly SlashCommand[]>;
}

export interface BridgeDialectOptions {
  readonly engine: BridgeEngine;
  /** Where conversations are kept. */
  readonly memory: ComposerMemory;
  readonly limits: Limits;
  readonly log: Log;
}

/** What the IDE's page may be logged to say. */
const LOGGED_CHARS = 2000;

/** The bridge that the Cursor IDE calls: chat with agents, and nothing that could set up, run or read anything (SEC-45). */
export function createBridgeDialect({ engine, memory, limits, log }: BridgeDialectOptions): Dialect {
  const composers = new Composers(memory);
  const face = createAcpFace(composers, limits.images);
  const startedAt = performance.now();
  const post = (
    path: string,
    answer: (body: unknown, principal: Principal) => JsonObject | Promise<JsonObject>,
  ): Route => ({
    method: "POST",
    path,
    face,
    async handle(exchange) {
      const body = await readJson(exchange, limits);
      exchange.reply(200, await answer(body, exchange.asker));
    },
  });
  const get = (
    path: string,
    answer: (query: URLSearchParams, exchange: Exchange) => Promise<JsonValue> | JsonValue,
  ): Route => ({
    method: "GET",
    path,
    face,
    async handle(exchange) {
      exchange.reply(200, await answer(exchange.query, exchange));
    },
  });
  const commandsOf = async (model: string, principal: Principal) =>
    (await engine.listCommands(model, principal)).map((command) => ({ ...command }));
  const say = (message: string, given: string) => {
    const level = given.toLowerCase();
    log[level === "error" || level === "warn" ? level : "info"]({ from: "ide" }, message.slice(0, LOGGED_CHARS));
  };
  const routes: readonly Route[] = [
    get("/acp/health", () => ({
      name: "excursor",
      protocol: 1,
      uptimeMs: Math.round(performance.now() - startedAt),
    })),
    get("/acp/providers", async (_, exchange) => {
      const models = await engine.listModels(exchange.asker, exchange.signal);
      const agents = models.filter(({ id }) => id.startsWith("acp:"));
      return {
        providers: agents.map(({ id, displayName, supportsImages, isThinking }) => ({
          id: id.slice("acp:".length),
          displayName,
          model: id,
          capabilities: { supportsAgent: true, supportsImages, supportsThinking: isThinking },
        })),
      };
    }),
    post("/acp/initSession", async (body, principal) => {
      const { provider, composerId = crypto.randomUUID() } = readBody(initSessionSchema, body);
      const commands = await commandsOf(provider, principal);
      return { sessionId: composers.sessionOf(principal, composerId), composerId, commands };
    }),
    post("/acp/getSession", (body, principal) => {
      const { composerId } = readBody(getSessionSchema, body);
      return { sessionId: composers.sessionOf(principal, composerId) };
    }),
    get("/acp/getSlashCommands", (query, exchange) =>
      commandsOf(agentModel(query.get("providerId") ?? ""), exchange.asker),
    ),
    post("/acp/cancel", (body, principal) => ({
      cancelled: composers.cancel(principal, readBody(cancelSchema, body).composerId),
    })),
    post("/acp/permission", (body, principal) => {
      const { requestId, optionId, cancelled } = readBody(permissionSchema, body);
      if (composers.answer(principal, requestId, cancelled ? undefined : optionId)) return { ok: true };
      throw new ExcursorError("not-found", "requestId: nobody waits for this answer.", { field: "requestId" });
    }),
    {
      method: "DELETE",
      path: "/acp/session/{id}",
      face,
      handle: (exchange, id) => exchange.reply(200, { deleted: composers.forget(exchange.asker, id) }),
    },
    post("/acp/log", (body) => {
      const { level, message } = readBody(logSchema, body);
      say(message, level);
      return { ok: true };
    }),
    get("/acp/debug", (query) => {
      say(query.get("msg") ?? "", "info");
      return { ok: true };
    }),
  ];
  return { face, path: "/acp/sendMessage", routes };
}
