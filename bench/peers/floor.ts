import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type ClientHttp2Stream, connect, constants } from "node:http2";
import type { AddressInfo } from "node:net";
import { TOOL_NAME } from "./tool-call.ts";

/**
 * The floor: the smallest program that converts the backend's stream to OpenAI's, as a baseline for the gateway. It has
 * no gate, no validation, no errors and no checked decoding. It has flow control, and cancels streams that have no
 * reader. It makes one write per response and turn of the event loop.
 */
const [upstream = ""] = process.argv.slice(2);
const WINDOW_BYTES = { stream: 32 * 1024, session: 8 * 1024 * 1024 };

const session = connect(upstream, { settings: { enablePush: false, initialWindowSize: WINDOW_BYTES.stream } });
session.on("connect", () => session.setLocalWindowSize(WINDOW_BYTES.session));

const RUN_HEADERS = {
  ":method": "POST",
  ":path": "/agent.v1.AgentService/Run",
  "content-type": "application/connect+proto",
  "connect-protocol-version": "1",
  authorization: "Bearer bench",
};

interface ChatRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: ReadonlyArray<{ readonly content: string; readonly tool_call_id?: string }>;
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => answer(JSON.parse(Buffer.concat(chunks).toString()), request, response));
});

let count = 0;

/** Streams that wait for a tool result, by call id. */
const parked = new Map<string, ClientHttp2Stream>();

function answer(chat: ChatRequest, request: IncomingMessage, response: ServerResponse): void {
  const { content = "", tool_call_id: callId = "" } = chat.messages.at(-1) ?? {};
  const run = parked.get(callId) ?? session.request(RUN_HEADERS, { endStream: false });
  parked.delete(callId);
  run.on("error", () => response.destroy());
  run.write(envelope(Buffer.from(content)));
  response.on("close", () => {
    if (!response.writableFinished) run.close(constants.NGHTTP2_CANCEL);
  });
  const [id, created] = [`chatcmpl-${count++}`, Math.floor(Date.now() / 1000)];
  if (chat.stream) relay(run, response, { id, object: "chat.completion.chunk", created, model: chat.model });
  else collect(run, response, { id, object: "chat.completion", created, model: chat.model });
  request.resume();
}

function relay(run: ClientHttp2Stream, response: ServerResponse, head: object): void {
  const event = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const [before = "", after = ""] = event({ content: "@" }, null).split('"@"');
  let gathered = event({ role: "assistant", content: "" }, null);
  let isFlushing = false;
  const flush = () => {
    isFlushing = false;
    if (response.write(gathered)) gathered = "";
    else {
      gathered = "";
      run.pause();
      response.once("drain", () => run.resume());
    }
  };
  read(run, {
    text: (text) => {
      gathered += before + JSON.stringify(text) + after;
      if (isFlushing) return;
      isFlushing = true;
      if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
      setImmediate(flush);
    },
    call: () => {
      const id = `sess_${String(count++).padStart(22, "0")}__call_0`;
      parked.set(id, run.removeAllListeners("data").removeAllListeners("error"));
      const call = { index: 0, id, type: "function", function: { name: TOOL_NAME, arguments: "{}" } };
      gathered += event({ tool_calls: [call] }, null);
      setImmediate(() => response.end(`${gathered}${event({}, "tool_calls")}data: [DONE]\n\n`));
    },
    end: () => setImmediate(() => response.end(`${gathered}${event({}, "stop")}data: [DONE]\n\n`)),
  });
}

function collect(run: ClientHttp2Stream, response: ServerResponse, head: object): void {
  let content = "";
  read(run, {
    text: (text) => {
      content += text;
    },
    call: () => {},
    end: () => {
      const message = { role: "assistant", content };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ ...head, choices: [{ index: 0, message, finish_reason: "stop" }] }));
    },
  });
}

const UPDATE = 0x0a;
const EXEC = 0x12;

/** Correct for these messages only: one-byte lengths, and text is the only update with field number 1. */
function read(run: ClientHttp2Stream, sink: { text(text: string): void; call(): void; end(): void }): void {
  let rest: Buffer = Buffer.alloc(0);
  run.on("data", (chunk: Buffer) => {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    let at = 0;
    while (at + 5 <= bytes.length) {
      const end = at + 5 + bytes.readUInt32BE(at + 1);
      if (end > bytes.length) break;
      if (bytes[at] === 2) {
        sink.end();
        run.end();
      } else if (bytes[at + 5] === EXEC) sink.call();
      else if (bytes[at + 5] === UPDATE && bytes[at + 7] === 0x0a) sink.text(bytes.toString("utf8", at + 11, end));
      at = end;
    }
    rest = bytes.subarray(at);
  });
}

function envelope(payload: Buffer): Buffer {
  const frame = Buffer.alloc(5 + payload.length);
  frame.writeUInt32BE(payload.length, 1);
  payload.copy(frame, 5);
  return frame;
}

server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
});
