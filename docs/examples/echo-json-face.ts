import { z } from "zod";
import type { ExcursorError } from "../../src/core/errors.ts";
import type { TurnEvent, Usage } from "../../src/core/events.ts";
import type { JsonObject, Turn } from "../../src/core/turn.ts";
import { errorMessage } from "../../src/faces/shared/errors/error-message.ts";
import { httpStatus } from "../../src/faces/shared/errors/http-errors.ts";
import { invalidRequest } from "../../src/faces/shared/errors/schema-issue.ts";
import type { AnswerCollector, ErrorBody, Face, ParseContext, TextRenderer } from "../../src/faces/shared/face.ts";
import type { FaceContext, FaceModule, FaceRoute } from "../../src/faces/shared/face-module.ts";
import { jsonObject } from "../../src/faces/shared/json-object.ts";
import { toolName } from "../../src/faces/shared/tools/tool-definition.ts";

/**
 * A small dialect: `POST /echo/{model}:ask` with `{"prompt": "…"}` is answered with one JSON object, or with a line of
 * JSON for each event if the query says `stream=true`.
 */
export const echoJson: FaceModule = {
  name: "echo-json",
  isSpokenBy: (headers) => headers["x-echo-key"] !== undefined,
  credentials: [{ header: "x-echo-key" }, { query: "key" }],
  error: errorBody,
  routes,
};

/** routes.ts: what can be asked for. */
function routes({ engine }: FaceContext): readonly FaceRoute[] {
  return [
    { type: "turn", path: "/echo/{model}:ask", face: echoJsonFace },
    {
      type: "call",
      method: "GET",
      path: "/echo/models",
      async handle({ principal, signal }) {
        const models = await engine.listModels(principal, signal);
        return { body: { models: models.map(({ id }) => id) } };
      },
    },
  ];
}

/** schema.ts: what a request may say. */
const askSchema = z.object({
  prompt: z.string().min(1),
  tools: z.array(z.object({ name: toolName, schema: jsonObject })).default([]),
});

/** parse.ts: a request as a turn. The model's name is a part of the path. */
const echoJsonFace: Face = {
  async parse(body, context) {
    const { data, error } = askSchema.safeParse(body);
    if (error) throw invalidRequest(error, body);
    return {
      turn: toTurn(data, context),
      isStream: context.query.get("stream") === "true",
      ignored: [],
      stream: () => new LineRenderer(),
      collect: () => new ObjectCollector(),
    };
  },
};

function toTurn({ prompt, tools }: z.output<typeof askSchema>, { principal, path }: ParseContext): Turn {
  return {
    principal,
    model: { id: path["model"] ?? "", effort: undefined },
    system: "",
    messages: [{ role: "user", content: [{ type: "text", text: prompt }] }],
    tools: tools.map((tool) => ({ ...tool, description: "" })),
    toolChoice: { type: "auto" },
    allowsParallelCalls: true,
    stop: [],
    maxOutputTokens: undefined,
    output: { type: "text" },
  };
}

/** render.ts: events as a stream. */
class LineRenderer implements TextRenderer {
  readonly contentType = "application/x-ndjson; charset=utf-8";
  readonly keepAlive = "\n";

  step(events: readonly TurnEvent[]): string {
    return events.map(lineOf).join("");
  }

  fail(error: ExcursorError, requestId: string): string {
    return `${JSON.stringify(errorObject(error, requestId))}\n`;
  }
}

function lineOf(event: TurnEvent): string {
  const shown = shownOf(event);
  return shown ? `${JSON.stringify(shown)}\n` : "";
}

function shownOf(event: TurnEvent): JsonObject | undefined {
  if (event.type === "text") return { text: event.text };
  if (event.type === "thinking") return { thinking: event.text };
  if (event.type === "tool-call") return { call: { id: event.id, name: event.name, args: event.args } };
  if (event.type === "usage") return { usage: usageObject(event.usage) };
  return event.type === "done" ? { done: event.reason } : undefined;
}

const usageObject = ({ inputTokens, outputTokens }: Usage): JsonObject => ({ inputTokens, outputTokens });

/** collect.ts: events as one answer. */
class ObjectCollector implements AnswerCollector {
  #text = "";
  #thinking = "";
  readonly #calls: JsonObject[] = [];
  #end: JsonObject = {};

  step(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (event.type === "text") this.#text += event.text;
      else if (event.type === "thinking") this.#thinking += event.text;
      else if (event.type === "tool-call") this.#calls.push({ id: event.id, name: event.name, args: event.args });
      else this.#end = { ...this.#end, ...shownOf(event) };
    }
  }

  body(): JsonObject {
    return { text: this.#text, thinking: this.#thinking, calls: this.#calls, ...this.#end };
  }
}

/** errors.ts: errors in this dialect's words. */
const errorObject = (error: ExcursorError, requestId: string): JsonObject => ({
  error: { kind: error.kind, message: errorMessage(error, requestId), field: error.field ?? null },
});

function errorBody(error: ExcursorError, requestId: string): ErrorBody {
  return { status: httpStatus(error.kind), headers: {}, body: errorObject(error, requestId) };
}
