import { randomUUID } from "node:crypto";
import { loadConfig } from "../app/load-config.ts";
import { openGateway } from "../app/open-gateway.ts";
import { newKey } from "../config/key-file.ts";
import type { TurnEvent } from "../core/events.ts";
import type { Turn } from "../core/turn.ts";
import { OWNER } from "../server/gate/keys/caller-keys.ts";
import { createLifecycle } from "./lifecycle.ts";

export type { TurnEvent, Usage } from "../core/events.ts";
export type { Message, ToolDefinition } from "../core/turn.ts";

export interface GatewayOptions {
  /** Answers come from the built-in simulator: no account is needed, and no conversation is stored. */
  readonly demo?: boolean;
  /** Default: the setting `port`, else 0, which picks a free port. */
  readonly port?: number;
  /** The API key that clients must send. Default: a new random one, which is not stored. */
  readonly key?: string;
  /** The folder of login, configuration and state. Default: the one that the command line uses. */
  readonly home?: string;
  /** Settings, built like config.json (docs/settings.md). They take precedence over the environment and the file. */
  readonly settings?: object;
  /** The variables from which settings are read. Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Is given the log, in lines of JSON. Default: the log is dropped. */
  readonly onLog?: (text: string) => void;
}

/** A question to a model: the model's name, the conversation, and optionally tools, limits and the like. */
export type Question = Pick<Turn, "messages"> &
  Partial<Omit<Turn, "principal" | "model" | "messages">> & {
    readonly model: string;
    /** `low`, `high` and so on. Default: the model's own. */
    readonly effort?: string;
  };

/** A gateway in this process. It reads no flags, handles no signals and never exits the process. */
export interface Gateway {
  /** Opens the gateway and its listeners. Resolves to the same object when they accept requests. */
  start(): Promise<Gateway>;
  /** Lets answers finish for `graceMs` (default: as long as the settings allow), then closes everything. It can start again. */
  stop(graceMs?: number): Promise<void>;
  /** Where it listens, without a path. The base URL of OpenAI clients is this with `/v1`. Throws unless it runs. */
  readonly url: string;
  /** Where Cursor's own clients are served, if the setting `cursorFace` is on. */
  readonly cursorUrl: string | undefined;
  /** The API key that clients must send. */
  readonly key: string;
  /**
   * Asks a model without HTTP. The answer ends with one `done`; failures are thrown. After `tool-call` events, run again with the
   * whole conversation and the results. Leaving the loop cancels the answer.
   */
  run(question: Question, options?: { readonly signal?: AbortSignal }): AsyncIterable<TurnEvent>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Creates a gateway. Nothing happens before {@link Gateway.start}. */
export function createGateway({
  demo = false,
  port,
  key = newKey(),
  home,
  settings,
  environment = process.env,
  onLog = () => {},
}: GatewayOptions = {}): Gateway {
  const { start, stop, current } = createLifecycle("The gateway", async () => {
    const variables = home === undefined ? environment : { ...environment, EXCURSOR_HOME: home };
    const loaded = loadConfig({ flags: { port, key }, environment: variables, given: { port: 0, ...settings } });
    const opened = await openGateway(loaded, { isDemo: demo, writeLog: onLog });
    opened.prewarm();
    return opened;
  });
  const gateway: Gateway = {
    async start() {
      await start();
      return gateway;
    },
    stop: (graceMs) => stop((opened) => opened.close(graceMs)),
    get url() {
      return current().url;
    },
    get cursorUrl() {
      return current().cursorUrl;
    },
    key,
    run: ({ model, effort, ...question }, { signal = new AbortController().signal } = {}) =>
      eventsOf(
        current()
          .engineFor("library")
          .run(
            { ...DEFAULTS, ...question, principal: OWNER, model: { id: model, effort } },
            {
              requestId: randomUUID(),
              signal,
            },
          ),
      ),
    [Symbol.asyncDispose]: () => gateway.stop(),
  };
  return gateway;
}

const DEFAULTS = {
  system: "",
  tools: [],
  toolChoice: { type: "auto" },
  allowsParallelCalls: true,
  stop: [],
  maxOutputTokens: undefined,
  output: { type: "text" },
} as const satisfies Partial<Turn>;

async function* eventsOf(batches: AsyncIterable<readonly TurnEvent[]>): AsyncGenerator<TurnEvent> {
  for await (const batch of batches) yield* batch;
}
