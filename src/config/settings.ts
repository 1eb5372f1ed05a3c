import { LIMIT_EXPECTED, parseLimit } from "../core/limits/limit.ts";
import { THINKING_STYLES } from "../core/thinking/thoughts.ts";
import { bridgeSetting } from "./bridge-setting.ts";
import { captureSetting } from "./capture-setting.ts";
import { modelNames } from "./model-names.ts";
import { priceList } from "./prices-setting.ts";
import {
  choice,
  list,
  optionalBoolean,
  optionalText,
  type Setting,
  type SettingsShape,
  secret,
  text,
  type ValuesOf,
  wholeNumber,
} from "./setting.ts";
import { optionalOrigin } from "./url-settings.ts";

const MIB = 1024 * 1024;

const FROM_NONE: [number, number] = [0, 2 ** 31 - 1];

export const ACCOUNT_NAME = /^[\w.@-]{1,64}$/;

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

const LIMITS = {
  bodyBytes: wholeNumber(32 * MIB, "Largest request body, in bytes."),
  bodiesBytes: wholeNumber(
    256 * MIB,
    "Request bodies being received, in bytes, all keys together. One key may use half. Above it: 503 with retry-after.",
  ),
  jsonDepth: wholeNumber(128, "Deepest JSON nesting in a request body."),
  headerBytes: wholeNumber(16 * 1024, "Total size of a request's headers, in bytes."),
  headerCount: wholeNumber(100, "Number of headers in a request."),
  headersTimeoutMs: wholeNumber(15_000, "Time allowed for the headers of a request, in milliseconds."),
  bodyTimeoutMs: wholeNumber(60_000, "Time allowed for the body of a request, in milliseconds."),
  bodyIdleMs: wholeNumber(15_000, "Longest pause while a body is sent, in milliseconds. After it: 408."),
  idleConnectionMs: wholeNumber(100_000, "How long an idle connection stays open, in milliseconds."),
  connections: wholeNumber(
    1024,
    "Open connections. At the limit, the oldest idle one is closed, those without a valid key first. If all are busy: 503.",
  ),
  requestsPerKey: wholeNumber(256, "Concurrent requests per key."),
  unverifiedRequests: wholeNumber(
    32,
    "Concurrent requests of all unverified Cursor tokens together. Unverified: not yet accepted by the backend. Above it: 429.",
  ),
  unverifiedBodyBytes: wholeNumber(
    MIB,
    "Largest body with an unverified Cursor token, in bytes. Above it, the backend must accept the token first.",
  ),
  streamsPerKey: wholeNumber(64, "Concurrent streamed answers per key."),
  socketsPerKey: wholeNumber(32, "Open WebSocket connections per key. Above it: 429."),
  socketIdleMs: wholeNumber(30 * 60_000, "How long a WebSocket without a request stays open, in milliseconds."),
  wrongKeysPerMinute: wholeNumber(10, "Different wrong keys that one address may try per minute. Above it: 429."),
  writeBufferBytes: wholeNumber(
    64 * 1024,
    "Bytes buffered for a slow client before the gateway applies back-pressure to the upstream.",
  ),
  stalledReaderMs: wholeNumber(
    120_000,
    "How long a client may read nothing before it is disconnected, in milliseconds.",
  ),
  keepAliveMs: wholeNumber(15_000, "Silence in a stream before a keep-alive comment is sent, in milliseconds."),
  drainMs: wholeNumber(
    30_000,
    "How long running answers may take to finish after a stop signal, in milliseconds.",
    FROM_NONE,
  ),
  handoverMs: wholeNumber(
    5000,
    "In a cluster: how long a gateway that is stopping has the others answer its new requests, until the balancer sends none, in milliseconds. If turns still arrive then, for up to drainMs more.",
    FROM_NONE,
  ),
  redisMs: wholeNumber(
    50,
    "In a cluster: how long a request waits for Redis before it continues without it, in milliseconds.",
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
  images: wholeNumber(20, "Images per request.", FROM_NONE),
  messages: wholeNumber(10_000, "Messages per request."),
  tools: wholeNumber(512, "Tools per request.", FROM_NONE),
  captureBytes: wholeNumber(256 * MIB, "Largest size of a capture, in bytes. A capture ends there.", [
    64 * 1024,
    2 ** 40,
  ]),
} as const;

export type Limits = ValuesOf<typeof LIMITS>;

export const DEFAULT_LIMITS: Limits = Object.fromEntries(
  Object.entries(LIMITS).map(([name, { fallback }]) => [name, fallback]),
) as unknown as Limits;

export interface DriverSettings<Shape extends SettingsShape> {
  readonly settings: Shape;
  /** The drivers of Cursor's backend, the default first. */
  readonly ofCursor: readonly [string, ...string[]];
  /** The drivers that an entry of `models` may name. */
  readonly ofEntries: readonly string[];
}

/**
 * All settings. The position in this tree is the key in the file (`limits.bodyBytes`), and gives the variable's name
 * (`EXCURSOR_LIMITS_BODY_BYTES`).
 */
export const gatewaySettings = <Shape extends SettingsShape>(drivers: DriverSettings<Shape>) => ({
  host: text("127.0.0.1", "Address to listen on. An address other than loopback requires a strong key.", "an address"),
  port: wholeNumber(8787, "Port to listen on. 0 picks a free port.", [0, 65_535]),
  key: secret(
    "API key that clients must send. Default: the key in the file `key`, which is created on the first start.",
    "printable characters without spaces",
    /^[\x21-\x7e]{1,512}$/,
  ),
  hosts: list(
    "Additional host names that clients may use, such as gateway.lan (any port) or gateway.lan:8080. Add localhost if a port is mapped, as with `docker -p 3000:8787`.",
    "names like gateway.lan or gateway.lan:8080",
    HOST,
  ),
  origins: list(
    "Web origins whose pages may call the gateway (CORS). Requests still need a key. Origins are compared exactly.",
    "origins like https://app.example",
    /^[a-z][a-z0-9+.-]*:\/\/[^/\s*]+$/,
  ),
  pathSecret: secret(
    "Secret path prefix that requests through a tunnel must have.",
    "16 to 128 letters, digits, - or _",
    /^[\w-]{16,128}$/,
  ),
  allowTokens: optionalBoolean("Whether clients may send a Cursor token as the API key. Default: only on loopback."),
  upstream: optionalOrigin("Backend to use instead of Cursor's."),
  token: secret(
    "Token of the Cursor account: a JWT or user::jwt (also with %3A%3A).",
    "a token without spaces",
    /^[\x21-\x7e]{1,16384}$/,
  ),
  account: optionalText(
    "Signed-in account to use. Default: the account named default, or the only account.",
    "a name of letters, digits and . _ @ -",
    (value) => ACCOUNT_NAME.test(value),
  ),
  keychain: choice(
    ["auto", "off"],
    "Where logins are stored: auto uses the system keychain if there is one, off uses a file.",
  ),
  driver: choice(drivers.ofCursor, "Protocol to use with Cursor's backend."),
  ...drivers.settings,
  tools: choice(
    ["client", "hub"],
    "Tools that models can use: client is the client's own tools; hub adds the tools of your MCP servers, which the gateway runs.",
  ),
  images: choice(
    ["auto", "data", "fetch"],
    "Images to accept: data accepts only images inside the request, fetch also https URLs. auto is fetch on loopback, else data.",
  ),
  models: modelNames("Your own model names, and the upstream for each name. See docs/thinking.md.", drivers.ofEntries),
  bridge: bridgeSetting(
    "Whether to start the bridge for agents inside the Cursor IDE. With compat, pages of the editor need no key. Default: off. See docs/acp.md.",
  ),
  bridgePort: wholeNumber(37_842, "Port of the bridge, on loopback. 0 picks a free port.", [0, 65_535]),
  cursorFace: optionalBoolean(
    "Whether to start the listener for Cursor's own clients (the SDK, the CLI). Default: off. See docs/inside-cursor.md.",
  ),
  cursorPort: wholeNumber(8788, "Port for Cursor's own clients, on loopback. 0 picks a free port.", [0, 65_535]),
  websocket: choice(
    ["on", "off"],
    "Whether clients may use the Responses API over a WebSocket, as Codex does. off answers 426, and they use HTTP.",
  ),
  ollama: optionalBoolean(
    "Whether to start the listener for Ollama's clients that cannot send a key. It accepts programs of the same user only, on Linux. Default: off. See docs/ollama.md.",
  ),
  ollamaPort: wholeNumber(
    11_434,
    "Port for Ollama's clients without a key, on loopback. 0 picks a free port.",
    [0, 65_535],
  ),
  thinking: choice(
    ["auto", ...THINKING_STYLES],
    "How Chat Completions returns thinking: in fields, in tags inside the text (tags, tags-nonce), or not at all (none). auto chooses by client. See docs/thinking.md.",
  ),
  state: choice(
    ["on", "off"],
    "Whether conversations are stored on disk. off keeps checkpoints, stored answers and the usage record in memory until the gateway stops. Existing files stay.",
  ),
  prices: priceList(
    "Prices of models in US dollars for a million tokens, instead of those of the price list: input, output, cached, cacheWritten, reasoning.",
  ),
  usage: {
    record: choice(
      ["on", "off"],
      "Whether requests, runs and tool calls are recorded. off writes no rows; keys with limits of tokens, dollars, steps or minutes are then refused. An existing record stays.",
    ),
    ownLimits: list(
      "What the gateway's own key may use: tokens or dollars per hour, day (UTC), billing period or in total, also per conversation; requests per minute; steps and minutes per conversation. See docs/usage.md.",
      `limits ${LIMIT_EXPECTED}`,
      { test: (text) => parseLimit(text) !== undefined },
    ),
    onLimit: choice(
      ["end", "pause"],
      "What happens to a parked run when the gateway's own key has reached a limit: end cancels it, pause keeps it until the limits are lifted, at most `limits.pausedMs`.",
    ),
    days: wholeNumber(400, "How many days the usage record keeps requests and tool calls.", [1, 36_500]),
    bytes: wholeNumber(512 * MIB, "Largest size of the usage record; the oldest rows are deleted first.", [
      MIB,
      2 ** 40,
    ]),
  },
  capture: captureSetting(
    "Records the traffic to clients and upstreams in this file, with secrets masked; true picks a new file in the home folder. Default: off. See docs/capture.md.",
  ),
  captureContent: choice(
    ["full", "hash", "none"],
    "What a capture keeps of prompts and texts: full keeps them, hash and none keep only their length (hash also shows which are equal).",
  ),
  metrics: choice(
    ["key", "open", "off"],
    "Access to /metrics: key requires the owner's key, open requires no key and works on loopback only, off disables the page.",
  ),
  logLevel: choice(
    ["info", "trace", "debug", "warn", "error", "fatal", "silent"],
    "Log level. debug adds each run and each upstream call, trace each frame with its kind and size. Content is never logged.",
  ),
  cluster: {
    redis: secret(
      "Redis of the gateways that work together: redis://USER:PASSWORD@HOST:PORT/NUMBER, or rediss:// with TLS. Redis 7 or Valkey. Default: this gateway is alone. See docs/scaling.md.",
      "a URL like redis://localhost:6379",
      /^rediss?:\/\/[^\s/?#]+(?:\/\d{0,5})?$/,
    ),
    node: optionalText(
      "Name of this gateway in the cluster. No two may have the same. Default: the host's name and the port.",
      "1 to 64 letters, digits and . _ -",
      (value) => /^[\w.-]{1,64}$/.test(value),
    ),
    advertise: optionalText(
      "URL at which the other gateways of the cluster reach this one, such as http://10.0.0.5:8790. The gateway listens on its port. Default: a free port on loopback, for gateways of one host.",
      "an http URL with a port and without a path",
      (value) => /^http:\/\/(?:[\w.-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}\/?$/.test(value) && URL.canParse(value),
    ),
    secret: secret(
      "Secret that the gateways of a cluster share. They prove it to each other. Required with `cluster.advertise` beyond loopback. Default: made of the gateway's key.",
      "32 to 512 printable characters without spaces",
      /^[\x21-\x7e]{32,512}$/,
    ),
    loginKey: secret(
      "Key with which the gateways of a cluster encrypt the logins that they share in Redis. Give it by the environment. Default: logins stay where they were made.",
      "32 to 512 printable characters without spaces",
      /^[\x21-\x7e]{32,512}$/,
    ),
  },
  limits: LIMITS,
});

export interface PlacedSetting {
  /** `limits.bodyBytes`. */
  readonly key: string;
  /** `EXCURSOR_LIMITS_BODY_BYTES`. */
  readonly variable: string;
  readonly setting: Setting<unknown>;
}

/** Returns the settings of a tree, each with its key and its variable. */
export function placeSettings(tree: object, prefix = ""): PlacedSetting[] {
  return Object.entries(tree).flatMap(([name, inner]: [string, Setting<unknown> | object]) => {
    const key = prefix + name;
    if (!("schema" in inner)) return placeSettings(inner, `${key}.`);
    const variable = `EXCURSOR_${key
      .replace(/[A-Z]+/g, "_$&")
      .replaceAll(".", "_")
      .toUpperCase()}`;
    return [{ key, variable, setting: inner }];
  });
}
