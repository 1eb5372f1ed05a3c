import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { onTestFinished } from "vitest";
import type { Tree } from "./mutate.ts";

/** How the bytes of an answer are sent. */
export const DELIVERIES = [
  "whole",
  "cut",
  "cut and reset",
  "open after the end",
  "silent after the end",
  "endless text",
  "endless pings",
  "gzip",
  "gzip garbage",
  "wrong type",
  "no type",
  "wrong length",
  "status 500",
  "status 200 without a body",
  "no answer",
  "binary",
] as const;

export type Delivery = (typeof DELIVERIES)[number];

export interface HostileUpstream {
  readonly url: string;
  /** What the next questions are answered with. */
  answer(text: string, delivery: Delivery, endless: string): void;
  /** Resolves when no answer is under way any more. */
  idle(): Promise<void>;
}

/** A server of a public API that answers what it is told to, as badly as it is told to. */
export async function startHostileUpstream(): Promise<HostileUpstream> {
  const open = new Set<ServerResponse>();
  let onIdle = () => {};
  let reply = (response: ServerResponse): void => void response.end();
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === "GET") {
      response.writeHead(404).end();
      return;
    }
    open.add(response);
    response.on("error", () => {});
    response.on("close", () => {
      open.delete(response);
      if (open.size === 0) onIdle();
    });
    request.on("end", () => reply(response));
  });
  onTestFinished(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer(text, delivery, endless) {
      reply = (response) => deliver(response, text, delivery, endless);
    },
    idle: () =>
      new Promise((resolve) => {
        onIdle = resolve;
        if (open.size === 0) resolve();
      }),
  };
}

const EVENT_STREAM = { "content-type": "text/event-stream; charset=utf-8" };

function deliver(response: ServerResponse, text: string, delivery: Delivery, endless: string): void {
  const half = text.slice(0, text.length / 2);
  switch (delivery) {
    case "whole":
      response.writeHead(200, EVENT_STREAM).end(text);
      return;
    case "cut":
      response.writeHead(200, EVENT_STREAM).end(half);
      return;
    case "cut and reset":
      response.writeHead(200, EVENT_STREAM).write(half, () => response.socket?.resetAndDestroy());
      return;
    case "open after the end":
      response.writeHead(200, EVENT_STREAM).write(text);
      return;
    case "silent after the end":
      response.writeHead(200, EVENT_STREAM).write(half);
      return;
    case "endless text":
      repeat(response, half, endless);
      return;
    case "endless pings":
      repeat(response, half, ': ping\n\nevent: ping\ndata: {"type": "ping"}\n\n');
      return;
    case "gzip":
      response.writeHead(200, { ...EVENT_STREAM, "content-encoding": "gzip" }).end(gzipSync(text));
      return;
    case "gzip garbage":
      response.writeHead(200, { ...EVENT_STREAM, "content-encoding": "gzip" }).end(text);
      return;
    case "wrong type":
      response.writeHead(200, { "content-type": "application/json" }).end(text);
      return;
    case "no type":
      response.writeHead(200).end(text);
      return;
    case "wrong length":
      response.writeHead(200, { ...EVENT_STREAM, "content-length": Buffer.byteLength(text) + 10 });
      response.write(text, () => response.socket?.destroy());
      return;
    case "status 500":
      response.writeHead(500, { "content-type": "application/json" }).end(text);
      return;
    case "status 200 without a body":
      response.writeHead(200, EVENT_STREAM).end();
      return;
    case "no answer":
      response.socket?.destroy();
      return;
    case "binary":
      response.writeHead(200, EVENT_STREAM).end(Buffer.from(text, "utf16le"));
      return;
    default:
      delivery satisfies never;
  }
}

/** As long as anybody reads. */
function repeat(response: ServerResponse, head: string, piece: string): void {
  const block = piece.repeat(20);
  response.writeHead(200, EVENT_STREAM).write(head);
  const write = (): void => {
    if (response.destroyed) return;
    if (response.write(block)) setImmediate(write);
    else response.once("drain", write);
  };
  write();
}

/** A whole answer of each public API, event by event. */
export interface UpstreamAnswer {
  readonly api: "anthropic" | "openai";
  readonly events: readonly Tree[];
  /** One that may come again and again. */
  readonly endless: Tree;
}

/** How an event stands in the stream. `json` may be broken. */
export const spellEvent = (api: UpstreamAnswer["api"], json: string): string =>
  api === "openai" ? `data: ${json}\n\n` : `event: ${/"type":"(\w+)"/.exec(json)?.[1] ?? "x"}\ndata: ${json}\n\n`;

const delta = (index: number, delta: Tree): Tree => ({ type: "content_block_delta", index, delta });
const start = (index: number, content_block: Tree): Tree => ({ type: "content_block_start", index, content_block });
const stop = (index: number): Tree => ({ type: "content_block_stop", index });

const MESSAGE_START: Tree = {
  type: "message_start",
  message: {
    model: "m",
    id: "msg_1",
    type: "message",
    role: "assistant",
    content: [],
    stop_reason: null,
    usage: { input_tokens: 25, cache_creation_input_tokens: 3, cache_read_input_tokens: 40, output_tokens: 1 },
  },
};

const messageEnd = (stop_reason: string): readonly Tree[] => [
  {
    type: "message_delta",
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: 89, output_tokens_details: { thinking_tokens: 30 } },
  },
  { type: "message_stop" },
];

const chunk = (choices: readonly Tree[], usage: Tree = null): Tree => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1_694_268_190,
  model: "m",
  choices,
  usage,
});

const choice = (delta: Tree, finish_reason: string | null = null): Tree =>
  chunk([{ index: 0, delta, logprobs: null, finish_reason }]);

const CHUNK_USAGE: Tree = chunk([], {
  prompt_tokens: 19,
  completion_tokens: 10,
  prompt_tokens_details: { cached_tokens: 8 },
  completion_tokens_details: { reasoning_tokens: 4 },
});

const TEXT_DELTA = delta(2, { type: "text_delta", text: "more " });

export const UPSTREAM_ANSWERS: readonly UpstreamAnswer[] = [
  {
    api: "anthropic",
    endless: TEXT_DELTA,
    events: [
      MESSAGE_START,
      start(0, { type: "thinking", thinking: "", signature: "" }),
      { type: "ping" },
      delta(0, { type: "thinking_delta", thinking: "hm" }),
      delta(0, { type: "signature_delta", signature: "sig" }),
      stop(0),
      start(1, { type: "redacted_thinking", data: "x" }),
      stop(1),
      start(2, { type: "text", text: "" }),
      delta(2, { type: "text_delta", text: "hello " }),
      delta(2, { type: "text_delta", text: "there" }),
      stop(2),
      ...messageEnd("end_turn"),
    ],
  },
  {
    api: "anthropic",
    endless: delta(0, { type: "input_json_delta", partial_json: "[" }),
    events: [
      MESSAGE_START,
      start(0, { type: "tool_use", id: "toolu_1", name: "look", input: {} }),
      delta(0, { type: "input_json_delta", partial_json: '{"at":' }),
      delta(0, { type: "input_json_delta", partial_json: '"a"}' }),
      stop(0),
      start(1, { type: "tool_use", id: "toolu_2", name: "look", input: { at: "b" } }),
      stop(1),
      ...messageEnd("tool_use"),
    ],
  },
  {
    api: "anthropic",
    endless: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    events: [MESSAGE_START, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }],
  },
  {
    api: "openai",
    endless: choice({ content: "more " }),
    events: [
      choice({ role: "assistant", content: "", refusal: null }),
      choice({ reasoning_content: "hm" }),
      choice({ content: "hello " }),
      choice({ content: "there" }),
      choice({}, "stop"),
      CHUNK_USAGE,
    ],
  },
  {
    api: "openai",
    endless: choice({ tool_calls: [{ index: 0, function: { arguments: "[" } }] }),
    events: [
      choice({
        role: "assistant",
        tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "look", arguments: "" } }],
      }),
      choice({ tool_calls: [{ index: 0, function: { arguments: '{"at":"a"}' } }] }),
      choice({
        tool_calls: [{ index: 1, id: "call_2", type: "function", function: { name: "look", arguments: "{}" } }],
      }),
      choice({}, "tool_calls"),
      CHUNK_USAGE,
    ],
  },
  {
    api: "openai",
    endless: { error: { message: "Overloaded", type: "server_error", code: null } },
    events: [choice({ content: "hello" }), { error: { message: "Overloaded", type: "server_error", code: null } }],
  },
];
