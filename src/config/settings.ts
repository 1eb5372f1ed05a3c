import { THINKING_STYLES } from "../core/thinking/thoughts.ts";
import { bridgeSetting } from "./bridge-setting.ts";
import { captureSetting } from "./capture-setting.ts";
import { limitList } from "./limit-text.ts";
import { LIMIT_SETTINGS } from "./limits.ts";
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
  variableOf,
  wholeNumber,
} from "./setting.ts";
import { optionalOrigin } from "./url-settings.ts";

const MIB = 1024 * 1024;

export const ACCOUNT_NAME = /^[\w.@-]{1,64}$/;

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

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
  host: text("127.0.0.1", "Address to listen on.", "an address"),
  port: wholeNumber(8787, "Port to listen on. 0 picks a free port.", [0, 65_535]),
  key: secret(
    "API key that clients must send, of 20 characters or more, 10 of them different. Default: the key in the file `key`, which is created on the first start.",
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
      "Whether requests, runs and tool calls are recorded. off writes no rows; keys with limits of tokens or dollars are then refused. An existing record stays.",
    ),
    ownLimits: limitList(
      "What the gateway's own key may use: requests or tokens a minute; tokens or dollars a day, a month (UTC), in total or per conversation. See docs/usage.md.",
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
    "Records the traffic to clients and upstreams in this file, which only you can read; true picks a new file in the home folder. Default: off. See docs/capture.md.",
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
    trustedNetwork: optionalBoolean(
      "Whether a Redis on another machine may be used without TLS or a password. Whoever can write to Redis can make keys. Default: false.",
    ),
  },
  limits: LIMIT_SETTINGS,
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
    return "schema" in inner ? [{ key, variable: variableOf(key), setting: inner }] : placeSettings(inner, `${key}.`);
  });
}
