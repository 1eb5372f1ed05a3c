import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Capture } from "../../../src/app/capture/open-capture.ts";
import { capturedSource } from "../../../src/app/dashboard/captured-source.ts";
import { captureTransport } from "../../../src/capture/capture-transport.ts";
import { CaptureWriter } from "../../../src/capture/capture-writer.ts";
import { Masker } from "../../../src/capture/mask/masker.ts";
import { CaptureRecorder } from "../../../src/capture/recorder.ts";
import type { CaptureRecord } from "../../../src/capture/records.ts";
import { readTraffic } from "../../../src/drift/read-traffic.ts";
import { AgentServerMessageSchema } from "../../../src/gen/agent/v1/run_pb.ts";
import { loadCassette } from "../../../src/replay/cassette.ts";
import { encodeAppend } from "../../../src/wire/agent/bidi-append.ts";
import { encodeFrame, FLAG_COMPRESSED, FLAG_END } from "../../../src/wire/connect/envelope.ts";
import { createConnectionPool } from "../../../src/wire/http/connection-pool.ts";
import { callHttp } from "../../../src/wire/http/http-call.ts";
import { wireLimits } from "../../../src/wire/limits.ts";
import { maskedBytes, maskedRecords, openMasked } from "../../capture/support/masked-records.ts";
import { excursor } from "../support/excursor.ts";

/** Twenty secrets and more, each in a place of its own. Those above the line are never written. */
const SECRETS = {
  known: "known-by-its-value-0",
  bearer: "short", // shorter than anything that is searched for
  cookie: "cookie-value-1",
  setCookie: "set-cookie-value-2",
  apiKeyHeader: "plain-api-key-header-3",
  queryToken: "query-token-4",
  queryKey: "query%20key%205",
  namedHeader: "named-header-21",
  // -----
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
  headerUrl: "header-url-22",
  variable: "variable of a file 23".replaceAll(" ", "-"),
  unknownField: "sk-unknownfield0123456789abcd24",
  oddHeader: "sk-oddheader0123456789abcdefgh25",
} as const;
const WRITTEN = new Set(Object.keys(SECRETS).slice(Object.keys(SECRETS).indexOf("namedHeader") + 1));

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
        encodeFrame(new BinaryWriter().tag(999, WireType.LengthDelimited).string(SECRETS.unknownField).finish()),
        encodeFrame(delta(` ${SECRETS.known} `)),
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

/** Records calls with all secrets in them. */
async function record(file: string): Promise<void> {
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
      "x-cursor-odd": SECRETS.oddHeader,
      location: `https://x.test/cb?access_token=${SECRETS.headerUrl}`,
    });
    response.addTrailers({ "x-said": SECRETS.trailer });
    response.end(body);
  }).listen(0, "127.0.0.1");
  await once(backend, "listening");
  const origin = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`;
  const recorder = new CaptureRecorder(new CaptureWriter({ file, maxBytes: 1e8, onEnd: expect.unreachable }), {
    secrets: [SECRETS.known],
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
}

/** The exits of a capture: what leaves by each of them. */
const EXITS: Readonly<Record<string, (file: string) => Promise<string | Buffer>>> = {
  async report(file) {
    const capture = open(file);
    await capture.learn();
    return maskedBytes(capture);
  },
  drift: async (file) => JSON.stringify(await readTraffic(open(file))),
  async cassette(file) {
    const { calls } = await loadCassette(open(file));
    const bytes = calls.flatMap(({ messages }) => messages.map((message) => Buffer.from(message.bytes)));
    const rest = calls.map(({ head, response, messages }) => [head, response, messages.map(({ meaning }) => meaning)]);
    return Buffer.concat([Buffer.from(JSON.stringify(rest)), ...bytes]);
  },
  dashboard: async (file) => {
    const source = capturedSource({ file, createMasker: () => new Masker([SECRETS.home]) } as Capture);
    const read = (call: number) => source?.readMessages(call, 0, 1e6);
    const listed = await source?.listCalls({ requests: new Set(["id"]), upstream: new Set() });
    return JSON.stringify([listed, await Promise.all([1, 2, 3, 4].map(read))]);
  },
  list: inspect(),
  "list as JSON": inspect("--json"),
  timeline: inspect("--call", "1", "--messages"),
  "timeline as JSON": inspect("--call", "1", "--json"),
  lines: inspect("--jsonl"),
  HAR: async (file) => {
    const har = join(folder, "a.har");
    await inspect("--har", har)(file);
    return readFileSync(har);
  },
  "lines of a capture that is followed": async (file) => {
    const { child, exited, output } = start("inspect", file, "--follow", "--jsonl");
    await expect.poll(() => output.stdout, { timeout: 20_000 }).toContain("BidiAppend");
    child.kill("SIGKILL");
    await exited;
    return output.stdout;
  },
  "drift on a terminal": (file) => run("drift", file),
  "drift as JSON": (file) => run("drift", file, "--json"),
};

const open = (file: string) => openMasked(file, [SECRETS.home]);

/** Runs a command on a machine whose home folder is the planted one. */
function start(...args: string[]) {
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  return excursor(args, { environment: { HOME: SECRETS.home, EXCURSOR_HOME: home } });
}

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await start(...args).exited;
  expect([code, stderr]).toEqual([expect.toBeOneOf([0, 1]), expect.not.stringContaining("internal")]);
  return stdout;
}

function inspect(...flags: string[]) {
  return (file: string) => run("inspect", file, ...flags);
}

test("SEC-52 a capture is private, and has no credential of a header and no known secret", async () => {
  const file = join(folder, "a.capture");
  await record(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const bytes = readFileSync(file);
  for (const [place, secret] of Object.entries(SECRETS)) {
    const isIn = formsOf(secret).some((form) => bytes.includes(form));
    if (!WRITTEN.has(place)) expect([place, isIn]).toEqual([place, false]);
  }
  expect(bytes.includes(SECRETS.mail)).toBe(true);
});

test.each(Object.entries(EXITS))(
  "SEC-52 no planted secret leaves a capture: %s",
  { timeout: 30_000 },
  async (_, exit) => {
    const file = join(folder, "a.capture");
    await record(file);
    const bytes = Buffer.from(await exit(file));
    expect(bytes.length).toBeGreaterThan(200);
    const texts = [bytes, ...hexIn(bytes), ...base64In(bytes)];
    for (const [place, secret] of Object.entries(SECRETS)) {
      for (const form of formsOf(secret)) {
        expect([place, texts.some((text) => text.includes(form))]).toEqual([place, false]);
      }
    }
    // Cut into letters, too: what the pieces of the text are together, where they are shown.
    const text = streamedIn(bytes.toString("utf8"));
    if (text !== "") expect(text).toMatch(/^write to [xyz.@]{26} with [xyz-]{37} now/);
  },
);

test("SEC-52 the texts of a report are as long as before", async () => {
  const file = join(folder, "a.capture");
  await record(file);
  let text = "";
  for (const message of await maskedRecords(open(file))) text += textOf(message);
  expect(text).toMatch(/^write to [xyz.@]{26} with [xyz-]{37} now [xyz_]{34} /);
});

const formsOf = (secret: string) => [secret, decodeURIComponent(secret), Buffer.from(secret).toString("hex")];

/** The texts that stand in hex, such as those of appends. */
const hexIn = (bytes: Buffer): readonly Buffer[] =>
  (bytes.toString("latin1").match(/[\da-f]{16,}/g) ?? []).map((hex) => Buffer.from(hex, "hex"));

const base64In = (bytes: Buffer): readonly Buffer[] =>
  (bytes.toString("latin1").match(/[\w+/]{16,}={0,2}/g) ?? []).map((text) => Buffer.from(text, "base64"));

/** Joins the pieces of streamed text in JSON. */
const streamedIn = (json: string): string =>
  [...json.matchAll(/"textDelta":\s*\{\s*"text":\s*"([^"]*)"/g)].map(([, text]) => text).join("");

function textOf(record: CaptureRecord): string {
  if (record.type !== "message" || record.form !== "frame" || record.flags !== 0 || record.direction === "sent")
    return "";
  const { message } = fromBinary(AgentServerMessageSchema, record.bytes);
  const update = message.case === "interactionUpdate" ? message.value.message : undefined;
  return update?.case === "textDelta" ? update.value.text : "";
}
