import {
  type CallToolResult,
  Client,
  type ElicitRequest,
  type ElicitResult,
  type Progress,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { unlessAborted } from "../../core/abort-race.ts";
import type { ExcursorError } from "../../core/errors.ts";
import { type TraceContext, traceFields } from "../../core/http/trace-context.ts";
import { unlessGone } from "../../core/ignored-failures.ts";
import type { JsonObject } from "../../core/turn.ts";
import { within } from "../../core/within.ts";
import type { Watchdog } from "../../process/watchdog.ts";
import type { HubLimits } from "../limits.ts";
import type { Authorization } from "../oauth/authorization.ts";
import type { HttpServer, ServerConfig } from "../servers/server-config.ts";
import type { ServerTool } from "../tools/tool-list.ts";
import { createAuthorizedFetch } from "./authorized-fetch.ts";
import { createLimitedFetch } from "./limited-fetch.ts";
import { messageTooLarge } from "./server-errors.ts";
import { StdioTransport } from "./stdio-transport.ts";
import type { TailText } from "./tail-text.ts";
import { UNCHECKED_SCHEMAS } from "./unchecked-schemas.ts";

export interface LinkOptions {
  readonly server: ServerConfig;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly watchdog: Watchdog;
  readonly limits: HubLimits;
  /** Absent: requests carry no access token. */
  readonly authorization?: Authorization | undefined;
  readonly signal: AbortSignal;
  readonly stderr: TailText;
  readonly onElicit: (params: ElicitRequest["params"]) => Promise<ElicitResult>;
  readonly onToolsChanged: () => void;
  /** Called when it ended by itself. */
  readonly onLost: (link: Link) => void;
}

/** One connection to a server, from its handshake to its end. It never reconnects: another link replaces it. */
export class Link {
  readonly client: Client;
  readonly #transport: Transport;
  readonly #limits: HubLimits;
  #failure: ExcursorError | undefined;
  #isClosed = false;
  #isRetired = false;
  #callsUnderWay = 0;

  private constructor(client: Client, transport: Transport, limits: HubLimits) {
    this.client = client;
    this.#transport = transport;
    this.#limits = limits;
  }

  static async open(options: LinkOptions): Promise<Link> {
    const { server } = options;
    if (server.type === "stdio") return Link.#connect(options, () => new StdioTransport({ ...options, server }));
    const viaSse = () => Link.#connect(options, (troubles) => sseTransport(server, options, troubles));
    if (server.type === "sse") return viaSse();
    try {
      return await Link.#connect(options, (troubles) => httpTransport(server, options, troubles));
    } catch (error) {
      // An older server rejects the POST with one of these. Any other error is final.
      const isOlder = SdkHttpError.isInstance(error) && [400, 404, 405].includes(error.status);
      if (server.isFixed || !isOlder) throw error;
      return viaSse();
    }
  }

  static async #connect(options: LinkOptions, create: (troubles: Troubles) => Transport): Promise<Link> {
    const { limits } = options;
    const client = createClient(options);
    let link: Link | undefined;
    /** The cause; the SDK reports only that something failed. */
    let unreachable: unknown;
    const transport = create({
      lose: (failure) => {
        if (link) link.#lose(failure);
      },
      note: (error) => {
        unreachable = error;
      },
    });
    const made = new Link(client, transport, limits);
    link = made;
    client.onclose = () => {
      if (made.#isClosed) return;
      made.#isClosed = true;
      made.#failure ??= transport instanceof StdioTransport ? transport.failure : undefined;
      options.onLost(made);
    };
    try {
      await unlessAborted(client.connect(transport, { timeout: limits.connectMs }), options.signal);
    } catch (error) {
      const failure = made.failure ?? (transport instanceof StdioTransport ? transport.failure : undefined);
      await made.close();
      throw failure ?? (SdkHttpError.isInstance(error) ? error : (unreachable ?? error));
    }
    // This transport reconnects by itself, but the server may have lost the session.
    if (transport instanceof SSEClientTransport) client.onerror = () => made.#lose(undefined);
    return made;
  }

  /** Why it ended by itself, if known. */
  get failure(): ExcursorError | undefined {
    return this.#failure;
  }

  get garbageLines(): number {
    return this.#transport instanceof StdioTransport ? this.#transport.garbageLines : 0;
  }

  get transportName(): string {
    if (this.#transport instanceof StdioTransport) return "stdio";
    return this.#transport instanceof SSEClientTransport ? "sse" : "http";
  }

  /** True if the error means that the server has lost our session. The request was then not carried out. */
  hasLostSession(error: unknown): boolean {
    if (!SdkHttpError.isInstance(error) || this.#transport.sessionId === undefined) return false;
    return error.status === 404 || (error.status === 400 && /session/i.test(error.message));
  }

  async call(
    { name, schema }: Pick<ServerTool, "name" | "schema">,
    args: JsonObject,
    { signal, onProgress, trace }: LinkCallContext,
  ): Promise<CallToolResult> {
    // The caller limits the time, because its clock is paused while a user is asked.
    const timeout = this.#limits.callTotalMs + 1000;
    this.#callsUnderWay++;
    try {
      // The SDK also needs the schema to find arguments that are sent as headers.
      const toolDefinition = { name, inputSchema: { ...schema, type: "object" as const } };
      return await this.client.callTool(
        { name, arguments: { ...args }, ...(trace && { _meta: { ...traceFields(trace) } }) },
        { signal, timeout, onprogress: onProgress, toolDefinition },
      );
    } finally {
      this.#callsUnderWay--;
      this.#closeIfDone();
    }
  }

  /** Accepts no more calls, and closes after the last one. */
  retire(): void {
    this.#isRetired = true;
    this.#closeIfDone();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#transport instanceof StreamableHTTPClientTransport) await endSession(this.#transport);
    await unlessGone(this.client.close());
    // A client that never connected does not close its transport.
    await unlessGone(this.#transport.close());
  }

  #closeIfDone(): void {
    if (this.#isRetired && this.#callsUnderWay === 0) void this.close();
  }

  #lose(failure: ExcursorError | undefined): void {
    this.#failure ??= failure;
    void unlessGone(this.client.close());
  }
}

interface LinkCallContext {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** Passed on in `_meta`, so that it reaches servers over every transport. */
  readonly trace?: TraceContext | undefined;
}

/** What a transport reports beside the protocol. */
interface Troubles {
  readonly lose: (failure: ExcursorError) => void;
  /** A request could not be sent, or got no response. */
  readonly note: (error: unknown) => void;
}

function createClient({ server, onElicit, onToolsChanged }: LinkOptions): Client {
  const client = new Client(
    { name: "excursor", version: "1" },
    {
      capabilities: { elicitation: { form: { applyDefaults: true }, url: {} } },
      versionNegotiation: { mode: server.protocol ?? (server.type === "http" ? "auto" : "legacy") },
      listChanged: { tools: { autoRefresh: false, onChanged: onToolsChanged } },
      jsonSchemaValidator: UNCHECKED_SCHEMAS,
    },
  );
  client.setRequestHandler("elicitation/create", ({ params }) => onElicit(params));
  return client;
}

const httpTransport = (server: HttpServer, options: LinkOptions, troubles: Troubles): Transport =>
  new StreamableHTTPClientTransport(server.url, requestOptions(server, options, troubles));

const sseTransport = (server: HttpServer, options: LinkOptions, troubles: Troubles): Transport =>
  new SSEClientTransport(server.url, requestOptions(server, options, troubles));

function requestOptions(
  { name, headers }: HttpServer,
  { limits, authorization }: LinkOptions,
  { lose, note }: Troubles,
) {
  const { messageBytes } = limits;
  const given = Object.fromEntries(Object.entries(headers).map(([header, value]) => [header, value.reveal()]));
  const onTooLarge = () => {
    const error = messageTooLarge(name, messageBytes);
    lose(error);
    return error;
  };
  const limited = createLimitedFetch(messageBytes, onTooLarge, note);
  return {
    fetch: authorization ? createAuthorizedFetch(limited, authorization) : limited,
    requestInit: { headers: given },
  };
}

const GOODBYE_MS = 1000;

/** Ends the session, but does not wait long for a server that is gone. */
const endSession = (transport: StreamableHTTPClientTransport): Promise<void> =>
  within(unlessGone(transport.terminateSession()), GOODBYE_MS);
