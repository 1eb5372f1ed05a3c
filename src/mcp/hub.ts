import type { Progress } from "@modelcontextprotocol/client";
import { unlessAborted } from "../core/abort-race.ts";
import { ExcursorError } from "../core/errors.ts";
import type { HubCallContext, HubPlace, HubResult, Toolbox, ToolHub } from "../core/hub/tool-hub.ts";
import { isJsonObject } from "../core/json/is-json-object.ts";
import type { JsonObject, Principal } from "../core/turn.ts";
import { within } from "../core/within.ts";
import { createWatchdog } from "../process/watchdog.ts";
import { type ConnectionState, ServerConnection } from "./connection/server-connection.ts";
import { HUB_LIMITS, type HubLimits } from "./limits.ts";
import type { Authorization } from "./oauth/authorization.ts";
import { PrincipalSets } from "./servers/principal-sets.ts";
import type { HttpServer, ServerConfig } from "./servers/server-config.ts";
import { ServerSet } from "./servers/server-set.ts";
import { CALL_TOOL, findTools, SEARCH_TOOL, searchTools } from "./tools/search-tools.ts";
import { buildToolCatalogue, createAllowList, createServerFilter, type ToolCatalogue } from "./tools/tool-catalogue.ts";
import type { ServerTool } from "./tools/tool-list.ts";
import { errorResult, readToolResult } from "./tools/tool-result.ts";

export interface HubOptions {
  readonly servers: readonly ServerConfig[];
  /** What each key may use, by its name; `*` is for all other keys. The owner may use everything. */
  readonly keys?: Readonly<Record<string, readonly string[]>>;
  /** Returns the name of a principal's key. Principals without a name may use nothing. */
  readonly keyName?: (principalId: string) => string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly limits?: HubLimits;
  /** With more tools than this, the model gets a search tool instead. */
  readonly searchAbove?: number;
  /** How long `open` waits for starting servers, counted from their start. Default: 250 ms. */
  readonly patienceMs?: number | undefined;
  /** Returns the authorization for a remote server. Absent: no server can be signed in to. */
  readonly authorize?: ((server: HttpServer) => Authorization | undefined) | undefined;
  readonly onTrouble?: (server: string, error: ExcursorError) => void;
  /** Called with one sentence about a server, for the log. */
  readonly onNote?: (server: string, text: string) => void;
  /** Returns the names of a server's tools that are held back until the user approves them. */
  readonly screen?: (server: string, tools: readonly ServerTool[]) => ReadonlySet<string>;
}

export interface Hub extends ToolHub {
  /** The owner's connections. */
  readonly connections: readonly ServerConnection[];
  /** Connects the owner's servers. Resolves when each is ready or has failed. */
  connect(): Promise<void>;
  onTools(listener: (connection: ServerConnection) => void): void;
  /** Called when a catalogue may have changed: because of a server's tools, or of the settings. */
  onChange(listener: () => void): void;
  /** Returns every tool that a principal may use, by its name in the catalogue. */
  catalogueFor(principal: Principal): ToolCatalogue;
  /** Calls a tool by its catalogue name. Failures are results; rejects only if the signal aborts. */
  call(catalogue: ToolCatalogue, name: string, args: JsonObject, context: HubCallContext): Promise<HubResult>;
  /** Applies new servers and keys. Unchanged servers keep running; removed ones end after their last call. */
  follow(found: Required<Pick<HubOptions, "servers" | "keys">>): void;
  /** Reconnects servers that refused us, because a user may have signed in. */
  retry(): void;
  /** Checks again which tools are held back, because a user may have approved some. */
  review(): void;
  /** Returns figures for metrics, over the servers of all keys. */
  stats(): HubStats;
  close(): Promise<void>;
}

export interface HubStats {
  /** Servers by the state of their connection. */
  readonly servers: ReadonlyMap<ConnectionState, number>;
  /** Calls under way. */
  readonly calls: number;
}

const SEARCH_ABOVE = 40;
/** A hanging server must not delay a turn. Its tools are offered to later turns. */
const PATIENCE_MS = 250;
const OWNER = "owner";

export function createHub(options: HubOptions): Hub {
  const { environment, limits = HUB_LIMITS, searchAbove = SEARCH_ABOVE } = options;
  const watchdog = createWatchdog();
  const listeners: ((connection: ServerConnection) => void)[] = [];
  const followers: (() => void)[] = [];
  let { servers, keys = {} } = options;

  const create = (server: ServerConfig): ServerConnection => {
    const connection: ServerConnection = new ServerConnection({
      server,
      environment,
      watchdog,
      limits,
      ...(server.type !== "stdio" && { authorization: options.authorize?.(server) }),
      onTools: () => {
        for (const listener of [...listeners, ...followers]) listener(connection);
      },
      onTrouble: (error) => options.onTrouble?.(server.name, error),
      onNote: (text) => options.onNote?.(server.name, text),
      screen: (tools) => options.screen?.(server.name, tools) ?? new Set(),
    });
    return connection;
  };
  const { keyName = (id: string) => id } = options;
  const patternsOf = (id: string): readonly string[] => {
    if (id === OWNER) return ["*"];
    const name = keyName(id);
    // A request's token is verified only by the backend, after programs would have been started.
    if (name === undefined) return [];
    return (Object.hasOwn(keys, name) ? keys[name] : keys["*"]) ?? [];
  };
  const serversOf = (id: string) => {
    const mayUse = createServerFilter(patternsOf(id));
    return servers.filter(({ name }) => mayUse(name));
  };
  const own = new ServerSet(create);
  own.follow(servers);
  const others = new PrincipalSets({
    create: (id) => {
      const set = new ServerSet(create);
      set.follow(serversOf(id));
      return set;
    },
    max: limits.principals,
    idleMs: limits.idleMs,
  });
  const nobodys = new ServerSet(create);
  const setOf = (id: string): ServerSet => {
    if (id === OWNER) return own;
    // A principal without servers must not take up one of the limited places.
    return serversOf(id).length === 0 ? nobodys : others.for(id);
  };
  const catalogueFor = ({ id }: Principal) =>
    buildToolCatalogue(setOf(id).connections, createAllowList(patternsOf(id)));

  return {
    get connections() {
      return own.connections;
    },
    connect: () => own.connect(),
    onTools: (listener) => listeners.push(listener),
    onChange: (listener) => followers.push(listener),
    catalogueFor,
    call: callTool,
    follow(found) {
      ({ servers, keys } = found);
      own.follow(servers);
      for (const [id, set] of others.all) set.follow(serversOf(id));
      for (const listener of followers) listener();
    },
    retry() {
      own.retry();
      for (const [, set] of others.all) set.retry();
    },
    review() {
      for (const set of [own, ...others.all.map(([, one]) => one)]) {
        for (const connection of set.connections) connection.review();
      }
    },
    async open(principal, signal) {
      const set = setOf(principal.id);
      const connected = set.connect();
      const waitMs = set.patience(options.patienceMs ?? PATIENCE_MS);
      if (waitMs > 0) {
        await set.holdFor(unlessAborted(within(connected, waitMs), signal));
        for (const { name, state } of set.connections) {
          if (state === "connecting") options.onNote?.(name, withoutTools(name));
        }
      }
      const catalogue = catalogueFor(principal);
      return catalogue.size > searchAbove ? searchBox(catalogue) : plainBox(catalogue);
    },
    stats() {
      const servers = new Map<ConnectionState, number>();
      let calls = 0;
      for (const { state, callCount } of [own, ...others.all.map(([, set]) => set)].flatMap(
        ({ connections }) => connections,
      )) {
        servers.set(state, (servers.get(state) ?? 0) + 1);
        calls += callCount;
      }
      return { servers, calls };
    },
    close: async () => {
      await Promise.all([own.close(), others.close()]);
    },
  };
}

const withoutTools = (server: string): string =>
  `A turn started without the tools of the MCP server "${server}", which is still starting.`;

const plainBox = (catalogue: ToolCatalogue): Toolbox => ({
  tools: [...catalogue.values()].map(({ name, description, schema }) => ({ name, description, schema })),
  call: (name, args, context) => callTool(catalogue, name, args, context),
  placeOf: (name) => placeIn(catalogue, name),
});

const searchBox = (catalogue: ToolCatalogue): Toolbox => ({
  tools: searchTools(catalogue),
  call: async (name, args, context) => {
    if (name === SEARCH_TOOL) return { content: [{ type: "text", text: findTools(catalogue, args) }], isError: false };
    if (name !== CALL_TOOL) return errorResult(`The tool ${JSON.stringify(name)} does not exist.`);
    const { name: tool, arguments: given } = args;
    if (typeof tool !== "string") return errorResult("name: expected the name of a tool.");
    if (given !== undefined && !isJsonObject(given)) return errorResult("arguments: expected an object.");
    return callTool(catalogue, tool, given ?? {}, context);
  },
  placeOf: (name, { name: tool }) =>
    name === CALL_TOOL && typeof tool === "string" ? placeIn(catalogue, tool) : undefined,
});

function placeIn(catalogue: ToolCatalogue, name: string): HubPlace | undefined {
  const found = catalogue.get(name);
  return found && { server: found.connection.name, serverTool: found.tool.name };
}

async function callTool(
  catalogue: ToolCatalogue,
  name: string,
  args: JsonObject,
  { signal, onProgress, elicit, trace }: HubCallContext,
): Promise<HubResult> {
  const found = catalogue.get(name);
  if (!found) return errorResult(`The tool ${JSON.stringify(name.slice(0, 64))} does not exist.`);
  const report = ({ progress, total, message }: Progress) => onProgress?.({ done: progress, total, message });
  try {
    const { connection, tool } = found;
    const result = await connection.call(tool.name, args, { signal, onProgress: report, elicit, trace });
    return readToolResult(await connection.readLinks(result, signal));
  } catch (error) {
    signal.throwIfAborted();
    return errorResult(ExcursorError.from(error).message);
  }
}
