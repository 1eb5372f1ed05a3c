import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { BidiAppendRequestSchema } from "../../../src/gen/aiserver/v1/bidi_pb.ts";
import { encodeAppend, findAppendProblem, readAppend } from "../../../src/wire/agent/bidi-append.ts";
import { Rendezvous } from "../../../src/wire/agent/rendezvous.ts";

const upload = (seqno: number) => ({ requestId: "a", seqno: BigInt(seqno), payload: Uint8Array.of(seqno) });

function uplink() {
  const got: number[] = [];
  const stops: string[] = [];
  return {
    got,
    stops,
    receive: (payload: Uint8Array) => got.push(payload[0] ?? -1),
    stop: (failure: string) => stops.push(failure),
  };
}

describe("the rendezvous", () => {
  it("hands on uploads in order, once each, whenever they came", () => {
    const rendezvous = new Rendezvous<string>();
    const reader = uplink();
    for (const seqno of [2, 0, 0]) rendezvous.append(upload(seqno));
    expect(rendezvous.hasFirst("a")).toBe(true);
    rendezvous.join("a", reader);
    expect(reader.got).toEqual([0]);
    for (const seqno of [1, 2, 3]) rendezvous.append(upload(seqno));
    expect(reader.got).toEqual([0, 1, 2, 3]);
  });

  it("tells the download of an upload that failed before it came", () => {
    const rendezvous = new Rendezvous<string>();
    const reader = uplink();
    rendezvous.fail("a", "broken");
    rendezvous.join("a", reader);
    expect(reader.stops).toEqual(["broken"]);
  });

  it("accepts and drops what comes after the end", () => {
    const rendezvous = new Rendezvous<string>();
    const reader = uplink();
    rendezvous.join("a", reader);
    rendezvous.leave("a");
    expect(rendezvous.append(upload(0))).toBe(true);
    expect(reader.got).toEqual([]);
  });

  it("waits for the first upload", async () => {
    const rendezvous = new Rendezvous<string>();
    const waiting = rendezvous.waitForFirst("a", 60_000);
    rendezvous.append(upload(0));
    await waiting;
    expect(rendezvous.hasFirst("a")).toBe(true);
  });
});

describe("an append", () => {
  const { requestId, seqno, payload } = upload(7);
  const inBytes = create(BidiAppendRequestSchema, {
    requestId: { requestId },
    appendSeqno: seqno,
    dataBinary: payload,
  });
  it.each([
    ["hex", encodeAppend(upload(7))],
    ["bytes", toBinary(BidiAppendRequestSchema, inBytes)],
  ])("is read back from %s", (_, bytes) => {
    const request = fromBinary(BidiAppendRequestSchema, bytes);
    expect(findAppendProblem(request)).toBeUndefined();
    expect({ ...readAppend(request), payload: [7] }).toEqual({ ...upload(7), payload: [7] });
    expect([...readAppend(request).payload]).toEqual([7]);
  });

  it("without an id, or with what is not hex, is a problem", () => {
    expect(findAppendProblem(create(BidiAppendRequestSchema))).toContain("request_id");
    const request = create(BidiAppendRequestSchema, { requestId: { requestId: "a" }, data: "xyz" });
    expect(findAppendProblem(request)).toContain("hex");
  });
});
