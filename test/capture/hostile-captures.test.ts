import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { encodeRecord, FIRST_LINE } from "../../src/capture/record-format.ts";
import type { CaptureRecord } from "../../src/capture/records.ts";
import { CallList } from "../../src/capture/view/call-list.ts";
import { HarEntries } from "../../src/capture/view/har.ts";
import { viewMessage } from "../../src/capture/view/message-view.ts";
import { ExcursorError } from "../../src/core/errors.ts";
import { jsonText } from "../../src/core/printable.ts";
import { AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { BidiRequestIdSchema } from "../../src/gen/aiserver/v1/bidi_pb.ts";
import { loadCassette } from "../../src/replay/cassette.ts";
import { othersOf, replayCassette } from "../../src/replay/replay-cassette.ts";
import { headersWith } from "../../src/replay/replay-target.ts";
import { createConnectionPool } from "../../src/wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../src/wire/http/h1-transport.ts";
import { openMasked } from "./support/masked-records.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hostile-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const junk = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    0,
    -1,
    Number.POSITIVE_INFINITY,
    "",
    "\u009b2J\u001b]0;t\u0007",
    [],
    {},
    { a: 1 },
    "//[",
    "/%zz",
    "http://[",
  ),
  fc.string(),
);
/** What it should be, or seldom something else. */
const or = (value: unknown) => fc.oneof({ weight: 9, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: junk });
const call = fc.integer({ min: 1, max: 3 });
const at = fc.constantFrom(1e12, 1e12 + 5, 0, -1, 8.64e15, Number.NaN);
const headers = or({
  "content-type": "application/connect+proto",
  "x-request-id": "a",
  authorization: "Bearer abcdefgh",
});
const head = fc.record({
  method: or("POST"),
  origin: or("https://a.test"),
  path: fc.oneof(
    fc.constantFrom(
      "/agent.v1.AgentService/Run",
      "/agent.v1.AgentService/RunSSE",
      "/aiserver.v1.BidiService/BidiAppend",
    ),
    junk,
  ),
  headers,
  transport: or("h2"),
  requestId: or("r"),
});
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.constantFrom(
    toBinary(BidiRequestIdSchema, create(BidiRequestIdSchema, { requestId: "a" })),
    toBinary(
      AgentServerMessageSchema,
      create(AgentServerMessageSchema, {
        message: {
          case: "interactionUpdate",
          value: { message: { case: "textDelta", value: { text: "\u009b2J\u001b]0;t\u0007\u202e" } } },
        },
      }),
    ),
    Buffer.from('["event","\u009b2J"]'),
  ),
);
const record = fc.oneof(
  fc.record({ type: fc.constant("call"), call, at, head }),
  fc.record({ type: fc.constant("response"), call, at, head: fc.record({ status: or(200), headers }) }),
  fc.record({
    type: fc.constant("message"),
    call,
    at,
    direction: fc.constantFrom("sent", "received"),
    form: fc.constantFrom("frame", "event", "body"),
    flags: fc.constantFrom(0, 1, 2, 255),
    wasCompressed: fc.boolean(),
    bytes,
  }),
  fc.record({ type: fc.constant("frames"), call, at, direction: fc.constantFrom("sent", "received"), bytes }),
  fc.record({
    type: fc.constant("end"),
    call,
    at,
    end: or({ outcome: "ok", cut: null, trailers: {}, sentBytes: 1, receivedBytes: 1 }),
  }),
  fc.record({ type: fc.constant("note"), call, at, note: or({ type: "conversation", id: "\u009bc" }) }),
);

test("A28 what somebody else's capture says ends no command as an internal error, and commands no terminal", async () => {
  const transports = { h1: createHttp1Transport(), h2: createConnectionPool() };
  const reads = { shown: 0, refused: 0, loaded: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 12 }), fc.nat(60), async (records, cut) => {
      const file = join(folder, "a.capture");
      const parts = records.flatMap((one) => encodeRecord(one as unknown as CaptureRecord));
      const whole = Buffer.concat([Buffer.from(FIRST_LINE), ...parts]);
      writeFileSync(file, cut === 0 ? whole.subarray(0, whole.length - 3) : whole);
      const refusal = async (act: () => Promise<unknown>) => {
        try {
          await act();
        } catch (error) {
          expect(ExcursorError.from(error).kind).toBe("invalid-request");
          reads.refused++;
        }
      };
      await refusal(async () => {
        const capture = openMasked(file);
        await capture.learn();
        const [list, entries] = [new CallList({}), new HarEntries()];
        const lines: string[] = [];
        for await (const stored of capture.read()) {
          list.add(stored);
          const one = stored.read();
          if (!one) continue;
          const path = list.of(stored.call)?.path ?? "";
          if (one.type === "message") lines.push(jsonText(viewMessage(one, path)));
          lines.push(jsonText(entries.add(one) ?? {}));
        }
        lines.push(...[...entries.rest(), ...list.wanted()].map((one) => jsonText(one)));
        for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\u202e]/u);
        reads.shown += lines.length;
      });
      await refusal(async () => {
        const cassette = await loadCassette(openMasked(file));
        othersOf(cassette);
        // Nothing listens there.
        const target = { origin: "http://127.0.0.1:1", transports, isPaced: false, timeoutMs: 1000 };
        await Array.fromAsync(replayCassette(cassette, { ...target, headersFor: headersWith(undefined) }));
        reads.loaded++;
      });
    }),
    { numRuns: 200 },
  );
  transports.h1.destroy();
  transports.h2.destroy();
  expect(Math.min(...Object.values(reads))).toBeGreaterThan(10);
});
