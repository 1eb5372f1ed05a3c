import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { SplitRuns } from "../../../src/core/split-runs.ts";
import { BidiRequestIdSchema } from "../../../src/gen/aiserver/v1/bidi_pb.ts";
import { encodeAppend } from "../../../src/wire/agent/bidi-append.ts";
import { encodeFrame } from "../../../src/wire/connect/envelope.ts";
import { KEY, SIGNED_IN, setUpSim } from "./support/stage.ts";

const RUN_SSE = "/agent.v1.AgentService/RunSSE";
const APPEND = "/aiserver.v1.BidiService/BidiAppend";

async function setUp(split?: SplitRuns) {
  const { url, trace } = await setUpSim({ firstAppendMs: 50, ...(split && { split }) });
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

/** A cluster whose other gateways know of no run. */
const ALONE: SplitRuns = {
  serve() {},
  opened: () => () => {},
  find: async () => false,
  isElsewhere: () => false,
  send: () => expect.unreachable(),
  tellPassedOn() {},
};

describe("half of a run over HTTP/1.1 whose other half does not come", () => {
  it("is the backend's to refuse, if the gateway is alone", async () => {
    const { download, append, passedOn } = await setUp();
    download(SIGNED_IN).catch(() => {});
    await append(3n, SIGNED_IN);
    await expect.poll(passedOn).toHaveLength(2);
  });

  it("is refused in a cluster, since it may be of a run of ours", async () => {
    const { download, append, passedOn } = await setUp(ALONE);
    expect((await download(SIGNED_IN)).text).toContain("The other half of this run did not come.");
    expect((await append(3n, SIGNED_IN)).text).toContain("The other half of this run did not come.");
    expect(passedOn()).toEqual([]);
  });

  it("does not take a key of ours to the backend (SEC-13)", async () => {
    const { download, append, passedOn } = await setUp();
    expect((await download(KEY)).text).toContain("needs a Cursor account");
    expect((await append(3n, KEY)).text).toContain("needs a Cursor account");
    expect((await append(0n, KEY, "application/json")).text).toContain("needs a Cursor account");
    expect(passedOn()).toEqual([]);
  });
});
