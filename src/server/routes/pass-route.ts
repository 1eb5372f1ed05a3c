import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { RequestContext } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";
import { isJsonObject } from "../../core/json/is-json-object.ts";
import type { MeteredAnswer, PassedRequest } from "../../core/passed-request.ts";
import type { PassedUsage } from "../../core/rules/passed-usage.ts";
import { estimateInputTokens } from "../../core/rules/usage-estimate.ts";
import type { JsonObject, Principal, Turn } from "../../core/turn.ts";
import type { FaceModule, PassRoute } from "../../faces/shared/face-module.ts";
import { hopsOf } from "../gate/hops-of.ts";
import type { GatewayExchange } from "../gateway-exchange.ts";
import { readJson } from "../read-json.ts";
import type { Probe } from "../watch-client.ts";
import type { Route } from "./route.ts";
import type { TurnService } from "./turn-route.ts";

/** The part of the engine that passes requests on. */
export interface RequestPasser {
  /** Throws `unsupported` if the model's upstream has no such API. */
  passOn(
    request: PassedRequest,
    context: Pick<RequestContext, "signal" | "observer" | "meter">,
  ): Promise<MeteredAnswer>;
}

/** Creates the route of an API without turns: the request goes to the model's upstream, and its answer comes back. */
export const passRoute = (module: FaceModule, { path, api }: PassRoute, service: TurnService): Route => ({
  method: "POST",
  path,
  face: module,
  async handle(exchange) {
    const { asker: principal, signal, recording } = exchange;
    const body = readBody(await readJson(exchange, service.limits));
    const model = readModel(body);
    exchange.notes.model = model;
    const turn = turnOf(principal, model, body);
    if (body["stream"] === true) exchange.seat?.takeStream();
    recording?.asks(turn);
    const inputTokens = estimateInputTokens(turn);
    const sent = { api, principal, model, body, inputTokens, hops: hopsOf(exchange.request), trace: exchange.trace };
    const answer = await service.engine.passOn(sent, { signal, observer: recording, meter: recording });
    try {
      await send(exchange, module, answer);
    } finally {
      exchange.notes.usage = answer.used.total();
    }
  },
});

function readBody(body: unknown): JsonObject {
  if (isJsonObject(body)) return body;
  throw new ExcursorError("invalid_json");
}

function readModel({ model }: JsonObject): string {
  if (typeof model === "string" && model !== "" && model.length <= 256) return model;
  throw new ExcursorError("invalid-request", "model: expected the name of a model.", { field: "model" });
}

/** The request as a turn, for limits and the usage record. */
const turnOf = (principal: Principal, id: string, { input, prompt, suffix }: JsonObject): Turn => ({
  principal,
  model: { id, effort: undefined },
  system: "",
  messages: [{ role: "user", content: [{ type: "text", text: [input, prompt, suffix].map(textOf).join("") }] }],
  tools: [],
  toolChoice: { type: "none" },
  allowsParallelCalls: false,
  stop: [],
  maxOutputTokens: undefined,
  output: { type: "text" },
});

const textOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

async function send(
  exchange: GatewayExchange,
  module: FaceModule,
  { contentType, body, used }: MeteredAnswer,
): Promise<void> {
  const { response, signal } = exchange;
  const isStream = contentType.startsWith("text/event-stream");
  const begin = () =>
    response.headersSent || response.writeHead(200, { ...exchange.commonHeaders(), "content-type": contentType });
  // Before its first bytes, a whole answer can still be refused.
  if (isStream) begin();
  if (isStream) exchange.probe = new CommentProbe(response, used);
  try {
    for await (const chunk of body) {
      begin();
      if (!response.write(chunk)) await Promise.race([once(response, "drain", { signal }), once(response, "close")]);
      signal.throwIfAborted();
    }
  } catch (thrown) {
    if (!isStream || response.destroyed) throw thrown;
    const error = exchange.errorFrom(thrown);
    exchange.notes.error = error;
    response.write(`\n\ndata: ${exchange.redact(JSON.stringify(module.error(error, exchange.id).body))}\n\n`);
  }
  begin();
  response.end();
}

/** Writes a comment between two events, to find out whether the client still reads. */
class CommentProbe implements Probe {
  readonly #response: ServerResponse;
  readonly #used: PassedUsage;

  constructor(response: ServerResponse, used: PassedUsage) {
    this.#response = response;
    this.#used = used;
  }

  stayAlive(): void {
    if (this.#used.endsEvent && !this.#response.writableNeedDrain) this.#response.write(": keep-alive\n\n");
  }
}
