import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { BidiRequestIdSchema } from "../../../src/gen/aiserver/v1/bidi_pb.ts";
import { encodeAppend } from "../../../src/wire/agent/bidi-append.ts";
import { encodeFrame } from "../../../src/wire/connect/envelope.ts";
import { KEY, SIGNED_IN, setUpSim } from "./support/stage.ts";

const RUN_SSE = "/agent.v1.AgentService/RunSSE";
const APPEND = "/aiserver.v1.BidiService/BidiAppend";

async function setUp() {
  const { url, trace } = await setUpSim({ firstAppendMs: 50 });
  const post = async (path: string, type: string, body: Uint8Array, token: string) => {
    const headers = { "content-type": type, authorization: `Bearer ${token}` };
    const response = await fetch(url + path, { method: "POST", headers, body });
    return { status: response.status, text: await response.text() };
  };
  const download = (token: string) => {
    const question = toBinary(BidiRequestIdSchema, create(BidiRequestIdSchema, { requestId: "download" }));
    return post(RUN_SSE, "application/connect+proto", encodeFrame(question), token);
  };
  const append = (seqno: bigint, token: string, type = "application/proto") =>
    post(APPEND, type, encodeAppend({ requestId: "append", seqno, payload: new Uint8Array() }), token);
  const passedOn = () =>
    trace.filter(({ kind, message }) => kind === "request" && /RunSSE|BidiAppend/.test(JSON.stringify(message)));
  return { download, append, passedOn };
}

describe("half of a run over HTTP/1.1 whose other half does not come", () => {
  it("is the backend's to refuse", async () => {
    const { download, append, passedOn } = await setUp();
    download(SIGNED_IN).catch(() => {});
    await append(3n, SIGNED_IN);
    await expect.poll(passedOn).toHaveLength(2);
  });

  it("does not take a key of ours to the backend (SEC-13)", async () => {
    const { download, append, passedOn } = await setUp();
    expect((await download(KEY)).text).toContain("needs a Cursor account");
    expect((await append(3n, KEY)).text).toContain("needs a Cursor account");
    expect((await append(0n, KEY, "application/json")).text).toContain("needs a Cursor account");
    expect(passedOn()).toEqual([]);
  });
});
