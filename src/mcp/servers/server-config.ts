import { z } from "zod";
import { isJsonObject } from "../../core/json/is-json-object.ts";
import { Secret } from "../../core/secret.ts";
import { type OAuthSettings, oauthFields, readOAuth } from "../oauth/oauth-settings.ts";
import { expandVariables, type VariableSource } from "./expand-variables.ts";

/** An MCP server, as configured. `env` and `headers` often hold keys and are never printed. */
export type ServerConfig = StdioServer | HttpServer;

interface CommonServer {
  readonly name: string;
  /** The file that it comes from, for messages. */
  readonly origin: string;
  readonly isDisabled: boolean;
  /** The version of the protocol. Undefined: tries the newer one where that costs nothing. */
  readonly protocol: "auto" | "legacy" | undefined;
  /** Tools that are never offered. */
  readonly disabledTools?: readonly string[];
}

export interface StdioServer extends CommonServer {
  readonly type: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, Secret>>;
  readonly folder: string | undefined;
}

export interface HttpServer extends CommonServer {
  readonly type: "http" | "sse";
  readonly url: URL;
  readonly headers: Readonly<Record<string, Secret>>;
  /** How to sign in. Undefined if a header authorizes us, or if sign-in is disabled. */
  readonly oauth: OAuthSettings | undefined;
  /** The file names the transport, so no other is tried. */
  readonly isFixed: boolean;
}

/** A problem of one server or file. The others still work. */
export interface ConfigProblem {
  readonly server: string;
  /** One sentence with file and field. */
  readonly text: string;
}

export interface ReadServers {
  readonly servers: readonly ServerConfig[];
  readonly problems: readonly ConfigProblem[];
  /** Entries without effect, or with an unexpected one. The server still works. */
  readonly warnings: readonly ConfigProblem[];
}

/** Valid names of servers. They become part of tool names, and appear in messages. */
const SERVER_NAME = /^\P{Cc}{1,128}$/u;

const texts = z.record(z.string(), z.string());

const common = {
  disabled: z.boolean().optional(),
  protocol: z.enum(["auto", "legacy"]).optional(),
  disabledTools: z.array(z.string()).default([]),
  // Tools that other clients run without asking the user. The hub never asks, so these have no effect.
  autoApprove: z.unknown().optional(),
  alwaysAllow: z.unknown().optional(),
};

const stdioEntry = z.looseObject({
  type: z.literal("stdio").optional(),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: texts.default({}),
  cwd: z.string().min(1).optional(),
  ...common,
});

const TRANSPORTS = { http: "http", "streamable-http": "http", streamableHttp: "http", sse: "sse" } as const;

const httpEntry = z.looseObject({
  type: z.enum(["http", "streamable-http", "streamableHttp", "sse"]).optional(),
  url: z.string().min(1),
  headers: texts.default({}),
  ...oauthFields,
  ...common,
});

/**
 * Reads `mcpServers` in the format of Cursor's `mcp.json` and a project's `.mcp.json`. Without `variables`, nothing is
 * replaced.
 */
export function readServers(mcpServers: unknown, origin: string, variables: VariableSource | undefined): ReadServers {
  if (mcpServers === undefined) return { servers: [], problems: [], warnings: [] };
  if (!isJsonObject(mcpServers)) {
    const problem = { server: "", text: `${origin}: mcpServers: expected an object.` };
    return { servers: [], problems: [problem], warnings: [] };
  }
  const servers: ServerConfig[] = [];
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  for (const [name, entry] of Object.entries(mcpServers)) {
    const place = `${origin}: mcpServers.${name.slice(0, 64)}`;
    const problem = (field: string, text: string) => problems.push({ server: name, text: `${place}${field}: ${text}` });
    if (!SERVER_NAME.test(name)) problem("", "expected a name of 1 to 128 printable characters.");
    else {
      const server = readEntry(name, entry, origin, variables, problem);
      if (!server) continue;
      servers.push(server);
      const warn = (text: string) => warnings.push({ server: name, text: `${place}${text}` });
      if (name.includes("/")) warn(': a name with "/" cannot be used in `keys`; choose another name.');
      for (const field of unknownFields(entry)) warn(`.${field.slice(0, 64)}: unknown field, it has no effect.`);
    }
  }
  return { servers, problems, warnings };
}

/** Returns the fields of an entry that are unknown here. */
function unknownFields(entry: unknown): readonly string[] {
  const fields = Object.keys(entry ?? {});
  const known = fields.includes("command") ? stdioEntry.shape : httpEntry.shape;
  return fields.filter((field) => !Object.hasOwn(known, field));
}

type Report = (field: string, text: string) => void;

function readEntry(
  name: string,
  entry: unknown,
  origin: string,
  variables: VariableSource | undefined,
  report: Report,
): ServerConfig | undefined {
  const onUnset = (field: string, variable: string) => report(field, `the variable ${variable} is not set.`);
  const expanded = variables ? expandVariables(entry, variables, onUnset) : { value: entry };
  if (!expanded) return undefined;
  const { value } = expanded;
  if (!isJsonObject(value) || !("command" in value || "url" in value)) {
    report("", 'expected an object with "command" or "url".');
    return undefined;
  }
  const result = "command" in value ? stdioEntry.safeParse(value) : httpEntry.safeParse(value);
  if (!result.success) {
    for (const { path, message } of result.error.issues) report(path.map((key) => `.${String(key)}`).join(""), message);
    return undefined;
  }
  const { disabled, protocol, disabledTools } = result.data;
  const isDisabled = disabled === true;
  const shared = { name, origin, isDisabled, protocol, ...(disabledTools.length > 0 && { disabledTools }) };
  if ("command" in result.data) {
    const { command, args, env, cwd } = result.data as z.output<typeof stdioEntry>;
    return { ...shared, type: "stdio", command, args, env: secrets(env), folder: cwd };
  }
  return readHttp(result.data as z.output<typeof httpEntry>, shared, report);
}

function readHttp(
  { type, url: text, headers, oauth, auth }: z.output<typeof httpEntry>,
  shared: CommonServer,
  report: Report,
): HttpServer | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    report(".url", "expected a URL that begins with https:// or http://.");
    return undefined;
  }
  if (url.protocol === "http:" && Object.keys(headers).length > 0 && !isLoopback(url.hostname)) {
    report(".url", "expected https, because the headers would be sent unencrypted.");
    return undefined;
  }
  const settings = readOAuth({ oauth, auth });
  if (Array.isArray(settings)) {
    report(...(settings as [string, string]));
    return undefined;
  }
  const hasKey = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  // Over plain http a token would be readable on the network.
  const isOpen = url.protocol === "http:" && !isLoopback(url.hostname);
  return {
    ...shared,
    type: type ? TRANSPORTS[type] : "http",
    isFixed: type !== undefined,
    url,
    headers: secrets(headers),
    oauth: hasKey || isOpen ? undefined : (settings as OAuthSettings | undefined),
  };
}

export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(host);

const secrets = (values: Readonly<Record<string, string>>): Record<string, Secret> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, new Secret(value)]));
