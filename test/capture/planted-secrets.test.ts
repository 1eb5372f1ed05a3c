import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readCapture } from "../../src/capture/capture-reader.ts";
import { captureTransport } from "../../src/capture/capture-transport.ts";
import { CaptureWriter } from "../../src/capture/capture-writer.ts";
import { CaptureRecorder } from "../../src/capture/recorder.ts";
import { AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { encodeAppend } from "../../src/wire/agent/bidi-append.ts";
import { encodeFrame, FLAG_COMPRESSED, FLAG_END } from "../../src/wire/connect/envelope.ts";
import { createConnectionPool } from "../../src/wire/http/connection-pool.ts";
import { callHttp } from "../../src/wire/http/http-call.ts";
import { wireLimits } from "../../src/wire/limits.ts";

/** Twenty secrets and more, each in a place of its own. */
const SECRETS = {
  bearer: "short", // shorter than anything that is searched for
  cookie: "cookie-value-1",
  setCookie: "set-cookie-value-2",
  apiKeyHeader: "plain-api-key-header-3",
  queryToken: "query-token-4",
  queryKey: "query%20key%205",
  jsonField: "password 6 with spaces",
  jsonJwt: "eyJhbGciOiJI.eyJzdWIiOiI3In0.c2lnbmF0dXJl",
  jsonNested: "nested-secret-8",
  jsonEscaped: "secret-9-in-a-line",
  mail: "ada.lovelace10@example.com",
  home: "/home/ada-eleven",
  streamed: "sk-streamed-over-frames-0123456789-12",
  streamedMail: "grace.hopper13@example.org",
  gzipFrame: "ghp_gzippedFrame0123456789abcdef14",
  gzipBody: "key-gzippedbody0123456789abcdef15",
  protobufBytes: "sk-protobufbytes0123456789abcd16",
  hexAppend: "exc_hexappend0123456789abcdefgh17",
  endFrame: "crsr_endframe0123456789abcdefgh18",
  urlPassword: "url-password-19",
  trailer: "sk-trailer0123456789abcdefghij20",
  namedHeader: "named-header-21",
  headerUrl: "header-url-22",
  variable: "variable of a file 23".replaceAll(" ", "-"),
} as const;

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "planted-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const server = (value: MessageInitShape<typeof AgentServerMessageSchema>) =>
  toBinary(AgentServerMessageSchema, create(AgentServerMessageSchema, value));
const delta = (text: string) =>
  server({ message: { case: "interactionUpdate", value: { message: { case: "textDelta", value: { text } } } } });
const blob = (text: string) => {
  const message = { case: "setBlobArgs", value: { blobId: Buffer.alloc(32, 1), blobData: Buffer.from(text) } } as const;
  return server({ message: { case: "kvServerMessage", value: { id: 1, message } } });
};

/** What the backend sends, by path. */
function answers(): Readonly<
  Record<string, { readonly type: string; readonly body: Buffer; readonly encoding?: string }>
> {
  const said = `write to ${SECRETS.streamedMail} with ${SECRETS.streamed} now`;
  const json = {
    access_token: SECRETS.jsonField,
    jwt: SECRETS.jsonJwt,
    list: [{ deep: { client_secret: SECRETS.jsonNested } }],
    log: `line\n${SECRETS.jsonField}\n${SECRETS.mail} https://me:${SECRETS.urlPassword}@host/ ${SECRETS.home}/x`,
    text: JSON.stringify({ apiKey: SECRETS.jsonEscaped }),
    again: SECRETS.jsonEscaped,
    file: `PORT=80\nDB_PASSWORD=${SECRETS.variable}\n`,
  };
  return {
    "/agent.v1.AgentService/Run": {
      type: "application/connect+proto",
      body: Buffer.concat([
        ...[...said].map((letter) => encodeFrame(delta(letter))),
        encodeFrame(gzipSync(delta(` ${SECRETS.gzipFrame} `)), FLAG_COMPRESSED),
        encodeFrame(blob(`a blob with ${SECRETS.protobufBytes} in it`)),
        encodeFrame(Buffer.from(JSON.stringify({ error: { message: SECRETS.endFrame } })), FLAG_END),
      ]),
    },
    "/auth/json": { type: "application/json", body: Buffer.from(JSON.stringify(json)) },
    "/auth/gzip": {
      type: "application/json",
      encoding: "gzip",
      body: gzipSync(JSON.stringify({ said: SECRETS.gzipBody })),
    },
  };
}

test.each(["full", "hash", "none"] as const)(
  "SEC-52 twenty planted secrets are in no capture, content %s",
  async (content) => {
    const known = answers();
    const backend = createServer((request, response) => {
      const { type, body, encoding } = known[(request.url ?? "").split("?")[0] ?? ""] ?? {
        type: "",
        body: Buffer.alloc(0),
      };
      response.writeHead(200, {
        "content-type": type,
        ...(encoding !== undefined && { "content-encoding": encoding }),
        "set-cookie": `session=${SECRETS.setCookie}; Path=/`,
        "x-auth-token": SECRETS.namedHeader,
        location: `https://x.test/cb?access_token=${SECRETS.headerUrl}`,
      });
      response.addTrailers({ "x-said": SECRETS.trailer });
      response.end(body);
    }).listen(0, "127.0.0.1");
    await once(backend, "listening");
    const origin = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`;
    const file = join(folder, "a.capture");
    const recorder = new CaptureRecorder(new CaptureWriter({ file, maxBytes: 1e8, onEnd: expect.unreachable }), {
      secrets: [SECRETS.home],
      content,
    });
    const wire = createConnectionPool();
    const transport = captureTransport(wire, "h2", recorder);
    const headers = {
      authorization: `Bearer ${SECRETS.bearer}`,
      cookie: `a=${SECRETS.cookie}`,
      "x-api-key": SECRETS.apiKeyHeader,
    };
    const append = encodeAppend({
      requestId: "r-1",
      seqno: 0n,
      payload: Buffer.concat([Buffer.of(0x1a, SECRETS.hexAppend.length), Buffer.from(SECRETS.hexAppend)]),
    });
    const query = `?token=${SECRETS.queryToken}&api_key=${SECRETS.queryKey}`;
    for (const [path, type, body] of [
      ["/agent.v1.AgentService/Run", "application/connect+proto", encodeFrame(Buffer.alloc(0))],
      [`/auth/json${query}`, "application/json", Buffer.from("{}")],
      ["/auth/gzip", "application/json", Buffer.from("{}")],
      ["/aiserver.v1.BidiService/BidiAppend", "application/proto", append],
    ] as const) {
      const request = { origin, path, headers: { ...headers, "content-type": type } };
      await callHttp({ transport, request, body, limits: wireLimits() });
    }
    wire.destroy();
    recorder.close();
    backend.close();
    const bytes = readFileSync(file);
    const texts = [bytes, ...hexIn(bytes)];
    for (const [place, secret] of Object.entries(SECRETS)) {
      for (const form of [secret, decodeURIComponent(secret), Buffer.from(secret).toString("hex")]) {
        expect([place, texts.some((text) => text.includes(form))]).toEqual([place, false]);
      }
    }
    // What a secret stood in is still there, with the lengths of before.
    if (content === "full") expect(await streamedText(file)).toMatch(/^write to \S{26} with \S{37} now/);
  },
);

/** The texts that stand in hex, such as those of appends. */
const hexIn = (bytes: Buffer): readonly Buffer[] =>
  (bytes.toString("latin1").match(/[\da-f]{16,}/g) ?? []).map((hex) => Buffer.from(hex, "hex"));

async function streamedText(file: string): Promise<string> {
  let text = "";
  for await (const stored of readCapture(file)) {
    const record = stored.read();
    if (record?.type !== "message" || record.form !== "frame" || record.flags !== 0 || record.direction === "sent")
      continue;
    const { message } = fromBinary(AgentServerMessageSchema, record.bytes);
    const update = message.case === "interactionUpdate" ? message.value.message : undefined;
    if (update?.case === "textDelta") text += update.value.text;
  }
  return text;
}
