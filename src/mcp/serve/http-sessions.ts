import { randomUUID } from "node:crypto";
import {
  type AuthInfo,
  isInitializeRequest,
  legacyStatelessFallback,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { unlessGone } from "../../core/ignored-failures.ts";

export interface HttpSessionsOptions {
  readonly create: (clientId: string) => Server;
  /** Sessions of one client. The least recently used is closed for a new one. */
  readonly maxSessions?: number;
  /** How long a session without requests and open streams is kept. */
  readonly idleMs?: number;
}

export interface GivenRequest {
  readonly authInfo: AuthInfo;
  readonly parsedBody?: unknown;
}

interface Session {
  readonly clientId: string;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  open: number;
  timer: NodeJS.Timeout | undefined;
}

const SESSION_HEADER = "mcp-session-id";

/**
 * Serves the older version of the protocol over HTTP, with sessions. Only in a session can a server ask its client
 * something or notify it of changes. A client without a session is served request by request.
 */
export class HttpSessions {
  readonly #options: HttpSessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #stateless: ReturnType<typeof legacyStatelessFallback>;

  constructor(options: HttpSessionsOptions) {
    this.#options = options;
    this.#stateless = legacyStatelessFallback(({ authInfo }) => options.create(authInfo?.clientId ?? ""));
  }

  get servers(): readonly Server[] {
    return [...this.#sessions.values()].map(({ server }) => server);
  }

  /** `parsedBody` is the body of a POST as JSON; the request itself has none. */
  async fetch(request: Request, given: GivenRequest): Promise<Response> {
    const id = request.headers.get(SESSION_HEADER);
    if (id !== null) {
      const known = this.#sessions.get(id);
      if (known?.clientId !== given.authInfo.clientId) return notFound();
      return this.#serve(id, known, request, given);
    }
    const isBeginning = request.method === "POST" && isInitializeRequest(given.parsedBody);
    return isBeginning ? this.#begin(request, given) : this.#stateless(request, given);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id)));
  }

  async #begin(request: Request, given: GivenRequest): Promise<Response> {
    const { create, maxSessions = 32 } = this.#options;
    const { clientId } = given.authInfo;
    const own = [...this.#sessions].filter(([, session]) => session.clientId === clientId);
    const [oldest] = own;
    if (own.length >= maxSessions && oldest) await this.#end(oldest[0]);
    const id = randomUUID();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => void this.#end(id),
    });
    const server = create(clientId);
    await server.connect(transport);
    const session: Session = { clientId, server, transport, open: 0, timer: undefined };
    this.#sessions.set(id, session);
    const response = await this.#serve(id, session, request, given);
    if (!response.ok) await this.#end(id);
    return response;
  }

  async #serve(id: string, session: Session, request: Request, given: GivenRequest): Promise<Response> {
    // Moves it to the end, as the most recently used.
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    clearTimeout(session.timer);
    session.open++;
    let isOpen = true;
    const leave = () => {
      if (!isOpen) return;
      isOpen = false;
      session.open--;
      if (session.open > 0 || !this.#sessions.has(id)) return;
      session.timer = setTimeout(() => void this.#end(id), this.#options.idleMs ?? IDLE_MS).unref();
    };
    // A stream stays open until the client disconnects or the stream ends.
    request.signal.addEventListener("abort", leave, { once: true });
    const response = await session.transport.handleRequest(request, given);
    if (!response.body) leave();
    return response;
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#sessions.delete(id);
    clearTimeout(session.timer);
    await unlessGone(session.server.close());
  }
}

const IDLE_MS = 30 * 60_000;

/** Makes the client start another session. */
const notFound = (): Response =>
  Response.json(
    { jsonrpc: "2.0", error: { code: -32_001, message: "Session not found" }, id: null },
    { status: 404, headers: { "content-type": "application/json" } },
  );
