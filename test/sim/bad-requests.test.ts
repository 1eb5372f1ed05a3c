import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { BidiRequestIdSchema } from "../../src/gen/aiserver/v1/bidi_pb.ts";
import { failureFrom } from "../../src/sim/rpc.ts";
import { encodeFrame, FLAG_COMPRESSED } from "../../src/wire/connect/envelope.ts";
import { setUp } from "./support/transports.ts";

const RUN_SSE = "/agent.v1.AgentService/RunSSE";
const CHAT = "/aiserver.v1.ChatService/StreamUnifiedChat";
const headers = { authorization: "Bearer tester", "content-type": "application/connect+proto" };

describe("a download or chat that cannot be read", () => {
  it.each<[name: string, path: string, body: Buffer]>([
    ["no frame", RUN_SSE, Buffer.alloc(0)],
    ["half a frame", RUN_SSE, encodeFrame(Buffer.alloc(9)).subarray(0, 9)],
    ["flags that do not exist", RUN_SSE, encodeFrame(Buffer.alloc(0), 0x40)],
    ["no protobuf", RUN_SSE, encodeFrame(Buffer.alloc(4, 255))],
    ["no gzip", RUN_SSE, encodeFrame(Buffer.from("zz"), FLAG_COMPRESSED)],
    ["no request id", RUN_SSE, encodeFrame(toBinary(BidiRequestIdSchema, create(BidiRequestIdSchema)))],
    ["no protobuf", CHAT, encodeFrame(Buffer.alloc(4, 255))],
    ["no gzip", CHAT, encodeFrame(Buffer.from("zz"), FLAG_COMPRESSED)],
  ])("%s to %s is refused", async (name, path, body) => {
    const { sim } = await setUp("h1");
    const response = await fetch(sim.url + path, { method: "POST", headers, body: new Uint8Array(body) });
    const text = await response.text();
    expect(text).toContain(`"code":"${name === "no protobuf" ? "internal" : "invalid_argument"}"`);
    expect(text).not.toMatch(/file:|node_modules|\.ts:/);
  });

  it("the request id may come as a header", async () => {
    const { sim, trace } = await setUp("h1");
    const stop = new AbortController();
    await fetch(sim.url + RUN_SSE, {
      method: "POST",
      headers: { ...headers, "x-request-id": "r7" },
      body: new Uint8Array(encodeFrame(new Uint8Array())),
      signal: stop.signal,
    });
    stop.abort();
    expect(trace.some(({ run, kind }) => run === "r7" && kind === "open")).toBe(true);
  });
});

it("a bug of the simulator tells no client where it is", () => {
  const { code, message } = failureFrom(new TypeError("cannot open /home/somebody/file.ts"));
  expect([code, message]).toEqual(["internal", expect.stringMatching(/TypeError/)]);
  expect(message).not.toMatch(/\/|\bat\b/);
  expect(failureFrom("/home/somebody").message).not.toContain("/");
});
