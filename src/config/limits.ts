import { type ValuesOf, variableOf, wholeNumber } from "./setting.ts";

const MIB = 1024 * 1024;

const FROM_NONE: [number, number] = [0, 2 ** 31 - 1];

export const LIMIT_SETTINGS = {
  bodyBytes: wholeNumber(32 * MIB, "Largest request body, in bytes."),
  connections: wholeNumber(
    1024,
    "Open connections. At the limit, the oldest idle one is closed, those without a valid key first. If all are busy: 503.",
  ),
  requestsPerKey: wholeNumber(256, "Concurrent requests per key."),
  streamsPerKey: wholeNumber(64, "Concurrent streamed answers per key."),
  drainMs: wholeNumber(
    30_000,
    "How long running answers may take to finish after a stop signal, in milliseconds.",
    FROM_NONE,
  ),
  redisMs: wholeNumber(
    50,
    "In a cluster: how long a step of a request waits for Redis before it continues without it, in milliseconds.",
  ),
  parkedMs: wholeNumber(15 * 60_000, "How long a parked run waits for tool results, in milliseconds."),
  pausedMs: wholeNumber(
    60 * 60_000,
    "How long a run stays parked after its key has reached a limit, if the key is to pause then, in milliseconds.",
  ),
  parkedRuns: wholeNumber(1000, "Parked runs (runs that wait for tool results). 0 turns parking off.", FROM_NONE),
  parkedRunsPerKey: wholeNumber(64, "Parked runs per key.", FROM_NONE),
  parkedBytes: wholeNumber(
    128 * MIB,
    "Estimated memory of all parked runs, in bytes: twice the conversation plus 32 KiB for each run.",
    FROM_NONE,
  ),
  parkedBytesPerKey: wholeNumber(64 * MIB, "Estimated memory of the parked runs of one key, in bytes.", FROM_NONE),
  hubTools: wholeNumber(
    40,
    "MCP tools that are offered to a model by name. If there are more, it gets a search tool instead.",
    FROM_NONE,
  ),
  hubSteps: wholeNumber(50, "Rounds of MCP tool calls per answer, at most."),
  imageBytes: wholeNumber(5 * MIB, "Largest image, in bytes."),
  captureBytes: wholeNumber(256 * MIB, "Largest size of a capture, in bytes. A capture ends there.", [
    64 * 1024,
    2 ** 40,
  ]),
} as const;

/** Limits without a setting. */
export const FIXED_LIMITS = {
  /** Request bodies being received. One key may use half. */
  bodiesBytes: 256 * MIB,
  jsonDepth: 128,
  headerBytes: 16 * 1024,
  headerCount: 100,
  headersTimeoutMs: 15_000,
  bodyTimeoutMs: 60_000,
  /** Longest pause while a body is sent. */
  bodyIdleMs: 15_000,
  idleConnectionMs: 100_000,
  /** For Cursor tokens that the backend has not yet accepted: concurrent requests of all, and the largest body. */
  unverifiedRequests: 32,
  unverifiedBodyBytes: MIB,
  /** WebSocket connections, and how long one stays open without a request. */
  socketsPerKey: 32,
  socketIdleMs: 30 * 60_000,
  /** Different wrong keys of one address. */
  wrongKeysPerMinute: 10,
  /** Bytes buffered for a slow client before the gateway applies back-pressure to the upstream. */
  writeBufferBytes: 64 * 1024,
  /** How long a client may read nothing before it is disconnected. */
  stalledReaderMs: 120_000,
  /** Silence in a stream before a keep-alive is sent. */
  keepAliveMs: 15_000,
  /**
   * How long a gateway that leaves its cluster still answers new requests, until the balancer has noticed.
   */
  handoverMs: 5000,
  /** Per request. */
  images: 20,
  messages: 10_000,
  tools: 512,
};

export type FixedLimits = Readonly<typeof FIXED_LIMITS>;

export type Limits = ValuesOf<typeof LIMIT_SETTINGS> & FixedLimits;

const NO_GATEWAY_IS_ASKED = "gateways do not call each other";

/** Names in the file that set nothing, with the reason. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.keys(FIXED_LIMITS).map((name) => [`limits.${name}`, "this limit is fixed"])),
  captureContent: "a capture keeps contents, and `excursor report --no-content` leaves them out",
  "cluster.advertise": NO_GATEWAY_IS_ASKED,
  "cluster.secret": NO_GATEWAY_IS_ASKED,
  "cluster.loginKey": "each gateway keeps its own logins",
};

const BY_NAME = new Map(
  Object.entries(WITHOUT_EFFECT).flatMap(([key, why]) => [[key, why] as const, [variableOf(key), why] as const]),
);

/** Returns why a key or variable sets nothing. Undefined if that is not known of it. */
export const whyNoEffect = (name: string): string | undefined => BY_NAME.get(name);
