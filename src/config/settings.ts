import { THINKING_STYLES } from "../core/thinking/thoughts.ts";
import { bridgeSetting } from "./bridge-setting.ts";
import { modelNames } from "./model-names.ts";
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
  unverifiedRequests: wholeNumber(32, "Requests under way of all Cursor tokens that the backend has not accepted yet."),
  unverifiedBodyBytes: wholeNumber(MIB, "Largest body of such a request before the backend is asked about its token."),
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
  parkedBytesPerKey: wholeNumber(64 * MIB, "Memory of the parked runs of one key, as an estimate in bytes.", FROM_NONE),
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
  upstream: optionalOrigin("Another backend origin."),
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
  driver: choice(drivers.ofCursor, "Which of Cursor's protocols to speak."),
  ...drivers.settings,
  tools: choice(
    ["client", "hub"],
    "Whose tools models are offered; hub adds those of the MCP servers in mcp.json, which are run here.",
  ),
  images: choice(
    ["auto", "data", "fetch"],
    "Whether images may only come with the request, or also by https URL; auto fetches them on loopback only.",
  ),
  models: modelNames("Names of your own for models, and which upstream answers for which names.", drivers.ofEntries),
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
