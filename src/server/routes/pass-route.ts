import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { RequestContext } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";
import { isJsonObject } from "../../core/json/is-json-object.ts";
import type { PassedAnswer, PassedRequest } from "../../core/passed-request.ts";
import { estimateInputTokens } from "../../core/rules/usage-estimate.ts";
import type { JsonObject, Principal, Turn } from "../../core/turn.ts";
import type { FaceModule, PassRoute } from "../../faces/shared/face-module.ts";
import { hopsOf } from "../gate/hops-of.ts";
import type { GatewayExchange } from "../gateway-exchange.ts";
import { readJson } from "../read-json.ts";
import type { Probe } from "../watch-client.ts";
import { UsageTail } from "./passed-usage.ts";
import type { Route } from "./route.ts";
import type { TurnService } from "./turn-route.ts";

/** The part of the engine that passes requests on. */
export interface RequestPasser {
  /** Throws `unsupported` if the model's upstream has no such API. */
  passOn(request: PassedRequest, context: Pick<RequestContext, "signal" | "observer">): Promise<PassedAnswer>;
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
    const leave = body["stream"] === true ? service.streams.take(principal.id) : () => {};
    try {
      recording?.asks(turn);
      const request = { api, principal, model, body, hops: hopsOf(exchange.request), trace: exchange.trace };
      const answer = await service.engine.passOn(request, { signal, observer: recording });
      const tail = new UsageTail();
      await send(exchange, answer, tail);
      const usage = tail.usage(estimateInputTokens(turn));
      exchange.notes.usage = usage;
      recording?.used(usage, usage.isEstimate ? "estimate" : "upstream");
    } finally {
      leave();
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

async function send(exchange: GatewayExchange, { contentType, body }: PassedAnswer, tail: UsageTail): Promise<void> {
  const { response, signal } = exchange;
  response.writeHead(200, { ...exchange.commonHeaders(), "content-type": contentType });
  if (contentType.startsWith("text/event-stream")) exchange.probe = new CommentProbe(response, tail);
  for await (const chunk of body) {
    tail.add(chunk);
    if (!response.write(chunk)) await Promise.race([once(response, "drain", { signal }), once(response, "close")]);
    signal.throwIfAborted();
  }
  response.end();
}

/** Writes a comment between two events, to find out whether the client still reads. */
class CommentProbe implements Probe {
  readonly #response: ServerResponse;
  readonly #tail: UsageTail;

  constructor(response: ServerResponse, tail: UsageTail) {
    this.#response = response;
    this.#tail = tail;
  }

  stayAlive(): void {
    if (this.#tail.endsEvent && !this.#response.writableNeedDrain) this.#response.write(": keep-alive\n\n");
  }
}
