import { THINKING_STYLES } from "../core/thinking/thoughts.ts";
import { BASE_URL_EXPECTED, isBaseUrl, normalizeBaseUrl } from "./base-url.ts";
import { bridgeSetting } from "./bridge-setting.ts";
import { modelNames } from "./model-names.ts";
import {
  choice,
  entries,
  list,
  optionalBoolean,
  optionalText,
  type Setting,
  secret,
  text,
  wholeNumber,
} from "./setting.ts";

const MIB = 1024 * 1024;

const FROM_NONE: [number, number] = [0, 2 ** 31 - 1];

/** Names that people give to accounts and keys. */
export const ACCOUNT_NAME = /^[\w.@-]{1,64}$/;

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

const apiKey = (help: string) => secret(help, "a key without spaces", /^[\x21-\x7e]{1,1024}$/);

const baseUrl = (help: string, fallback: string): Setting<string> => {
  const { schema, combine: _, ...setting } = optionalText(help, BASE_URL_EXPECTED, isBaseUrl);
  return { ...setting, schema: schema.default(fallback).transform(normalizeBaseUrl), fallback };
};

/**
 * Every setting there is. The place in this tree is the key in the file (`limits.bodyBytes`) and gives the name in
 * the environment (`EXCURSOR_LIMITS_BODY_BYTES`).
 */
const SETTINGS = {
  host: text("127.0.0.1", "Address to listen on. Anything but loopback needs a strong key.", "an address"),
  port: wholeNumber(8787, "Port to listen on; 0 picks a free one.", [0, 65_535]),
  key: secret(
    "What clients send as API key. Without it one is made on the first start.",
    "printable characters without spaces",
    /^[\x21-\x7e]{1,512}$/,
  ),
  hosts: list(
    "Further names that clients may reach the gateway by; without a port, with any.",
    "names like gateway.lan or gateway.lan:8080",
    HOST,
  ),
  origins: list(
    "Web origins whose pages may send requests and read the answers (CORS); the key is needed all the same.",
    "origins like https://app.example",
    /^[a-z][a-z0-9+.-]*:\/\/[^/\s*]+$/,
  ),
  pathSecret: secret(
    "What paths must begin with when requests come through a tunnel.",
    "16 to 128 letters, digits, - or _",
    /^[\w-]{16,128}$/,
  ),
  allowTokens: optionalBoolean("Whether a Cursor token may come as the API key. Without it: only on loopback."),
  upstream: optionalText("Another backend origin.", "an https origin, or an http one on loopback", isUpstream),
  agentUpstream: optionalText(
    "Where runs go, instead of the host that the backend names for them.",
    "an https origin, or an http one on loopback",
    isUpstream,
  ),
  token: secret("The token of the Cursor account.", "a token without spaces", /^[\x21-\x7e]{1,16384}$/),
  account: optionalText(
    "Which account to use, of those that are signed in here. Without it: the one called default, or the only one.",
    "a name of letters, digits and . _ @ -",
    (value) => ACCOUNT_NAME.test(value),
  ),
  keychain: choice(
    ["auto", "off"],
    "Whether logins are kept in the system's keychain where there is one, or in a file.",
  ),
  driver: choice(["cursor", "cursor-legacy"], "Which of Cursor's protocols to speak."),
  legacyCall: choice(["unified", "chat"], "Which call `cursor-legacy` makes; chat is the oldest, and knows no tools."),
  transport: choice(["auto", "h2", "h1"], "How runs reach the backend; auto lets the backend say."),
  clientVersion: optionalText(
    "The client version told to the backend.",
    "a version like cli-2026.01.09-231024f",
    (value) => /^[\w.+-]{1,64}$/.test(value),
  ),
  checksum: optionalText(
    "The x-cursor-checksum header sent to the backend. Without it: one by account for cursor-legacy, else none.",
    "1 to 512 printable characters without spaces",
    (value) => /^[\x21-\x7e]{1,512}$/.test(value),
  ),
  tools: choice(
    ["client", "hub"],
    "Whose tools models are offered; hub adds those of the MCP servers in mcp.json, which are run here.",
  ),
  context: choice(["refuse", "trim"], "What to do when a conversation is longer than the model's window."),
  images: choice(
    ["auto", "data", "fetch"],
    "Whether images may only come with the request, or also by https URL; auto fetches them on loopback only.",
  ),
  models: modelNames("Names of your own for models, and which upstream answers for which names."),
  anthropic: {
    key: apiKey("The key of Anthropic's API, or of a server that speaks it."),
    baseURL: baseUrl("The base URL of that API, without /v1.", "https://api.anthropic.com"),
  },
  openai: {
    key: apiKey("The key of OpenAI's API, or of a server that speaks it."),
    baseURL: baseUrl("The base URL of that API, with /v1.", "https://api.openai.com/v1"),
  },
  agents: entries(
    "Agents that speak ACP, by name: command, args, env, passEnv, cwd, displayName, permissions, allow. `allow` holds kinds of tools that need no question (read, edit, delete, move, search, execute, think, fetch, switch_mode, other, or *); it binds agents that ask, or that have a permission switch.",
  ),
  bridge: bridgeSetting(
    "Whether the bridge for agents inside the Cursor IDE listens; with compat, the editor's own pages need no key. Without it: no.",
  ),
  bridgePort: wholeNumber(37_842, "The bridge's port, on loopback; 0 picks a free one.", [0, 65_535]),
  thinking: choice(
    ["auto", ...THINKING_STYLES],
    "How Chat Completions writes thinking: fields beside the text, tags in it, or not at all; auto decides by the client.",
  ),
  state: choice(
    ["on", "off"],
    "Whether conversations may be kept on disk; off keeps them in memory, until the gateway stops.",
  ),
  logLevel: choice(
    ["info", "trace", "debug", "warn", "error", "fatal", "silent"],
    "How much to log; debug adds each upstream call, trace each frame by kind and size. Never content.",
  ),
  limits: {
    bodyBytes: wholeNumber(32 * MIB, "Largest request body."),
    bodiesBytes: wholeNumber(256 * MIB, "All request bodies together that are being received; one key may hold half."),
    jsonDepth: wholeNumber(128, "Deepest nesting of a request body."),
    headerBytes: wholeNumber(16 * 1024, "All headers of a request together."),
    headerCount: wholeNumber(100, "Headers of a request."),
    headersTimeoutMs: wholeNumber(15_000, "Time to send the headers of a request."),
    bodyTimeoutMs: wholeNumber(60_000, "Time to send its body."),
    bodyIdleMs: wholeNumber(15_000, "Longest pause while it is sent."),
    idleConnectionMs: wholeNumber(100_000, "How long a connection may stay open between requests."),
    connections: wholeNumber(1024, "Open connections."),
    requestsPerKey: wholeNumber(256, "Requests under way for one key."),
    unverifiedRequests: wholeNumber(
      32,
      "Requests under way of all Cursor tokens that the backend has not accepted yet.",
    ),
    unverifiedBodyBytes: wholeNumber(
      MIB,
      "Largest body of such a request before the backend is asked about its token.",
    ),
    streamsPerKey: wholeNumber(64, "Streamed answers under way for one key."),
    wrongKeysPerMinute: wholeNumber(10, "Different wrong keys from one address."),
    writeBufferBytes: wholeNumber(64 * 1024, "What may wait for a slow reader before the upstream is held back."),
    stalledReaderMs: wholeNumber(120_000, "How long a reader may take nothing before it is dropped."),
    keepAliveMs: wholeNumber(15_000, "Silence in a streamed answer before a comment keeps it alive."),
    drainMs: wholeNumber(30_000, "How long answers may go on after a signal to stop.", FROM_NONE),
    parkedMs: wholeNumber(15 * 60_000, "How long a parked run waits for tool results."),
    parkedRuns: wholeNumber(1000, "Parked runs, which wait for tool results; 0 keeps none.", FROM_NONE),
    parkedRunsPerKey: wholeNumber(64, "Parked runs per key.", FROM_NONE),
    parkedBytes: wholeNumber(128 * MIB, "Memory of all parked runs, as an estimate in bytes.", FROM_NONE),
    parkedBytesPerKey: wholeNumber(
      64 * MIB,
      "Memory of the parked runs of one key, as an estimate in bytes.",
      FROM_NONE,
    ),
    hubTools: wholeNumber(
      40,
      "Tools of MCP servers that a model is shown; if there are more, it gets a search.",
      FROM_NONE,
    ),
    hubSteps: wholeNumber(50, "Hub tool rounds per answer, at most."),
    imageBytes: wholeNumber(5 * MIB, "Largest image."),
    images: wholeNumber(20, "Images in a request.", FROM_NONE),
    messages: wholeNumber(10_000, "Messages in a request."),
    tools: wholeNumber(512, "Tools in a request.", FROM_NONE),
  },
} as const;

type ValuesOf<Tree> = {
  readonly [Name in keyof Tree]: Tree[Name] extends Setting<infer T> ? T : ValuesOf<Tree[Name]>;
};

/** All settings with their values. */
export type Config = ValuesOf<typeof SETTINGS>;
export type Limits = Config["limits"];

/** A setting with its place. */
export interface PlacedSetting {
  /** `limits.bodyBytes`. */
  readonly key: string;
  /** `EXCURSOR_LIMITS_BODY_BYTES`. */
  readonly variable: string;
  readonly setting: Setting<unknown>;
}

export const PLACED_SETTINGS: readonly PlacedSetting[] = place(SETTINGS, "");

function place(tree: object, prefix: string): PlacedSetting[] {
  return Object.entries(tree).flatMap(([name, inner]: [string, Setting<unknown> | object]) => {
    const key = prefix + name;
    if (!("schema" in inner)) return place(inner, `${key}.`);
    const variable = `EXCURSOR_${key
      .replace(/[A-Z]+/g, "_$&")
      .replaceAll(".", "_")
      .toUpperCase()}`;
    return [{ key, variable, setting: inner }];
  });
}

export const DEFAULT_LIMITS: Limits = Object.fromEntries(
  Object.entries(SETTINGS.limits).map(([name, { fallback }]) => [name, fallback]),
) as unknown as Limits;

function isUpstream(value: string): boolean {
  return isBaseUrl(value) && new URL(value).pathname === "/";
}
