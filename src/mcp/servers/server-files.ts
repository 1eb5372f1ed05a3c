import { join } from "node:path";
import { checkConfigFile } from "../../config/home.ts";
import { ExcursorError } from "../../core/errors.ts";
import { isJsonObject } from "../../core/json/is-json-object.ts";
import { readSmallFile } from "../../files/read-small-file.ts";
import { approvalDigest } from "./approval.ts";
import type { VariableSource } from "./expand-variables.ts";
import { type ConfigProblem, readServers, type ServerConfig } from "./server-config.ts";

export interface ServerPlaces {
  /** Excursor's own folder. Its `mcp.json` is trusted, because the user wrote it. */
  readonly home: string;
  /** The working directory. Its files are not trusted. */
  readonly project: string;
  readonly userHome: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A project's server that is not approved in its current form. */
export interface UnapprovedServer {
  readonly server: ServerConfig;
  readonly digest: string;
}

export interface FoundServers {
  readonly servers: readonly ServerConfig[];
  readonly unapproved: readonly UnapprovedServer[];
  readonly problems: readonly ConfigProblem[];
  /** What each key may use, by its name; `*` is for all other keys. */
  readonly keys: Readonly<Record<string, readonly string[]>>;
}

const OWN_FILE = "mcp.json";
const APPROVALS_FILE = "mcp-approvals.json";
const PROJECT_FILES = [".mcp.json", join(".cursor", "mcp.json")];

export const ownFile = (home: string): string => join(home, OWN_FILE);
export const approvalsFile = (home: string): string => join(home, APPROVALS_FILE);

export const foreignFiles = ({ userHome }: ServerPlaces): readonly string[] => [join(userHome, ".cursor", "mcp.json")];

export const serverFiles = ({ home, project }: ServerPlaces): readonly string[] => [
  ownFile(home),
  approvalsFile(home),
  ...PROJECT_FILES.map((file) => join(project, file)),
];

/** Returns the servers of the user's own file, and the approved ones of the project. */
export function findServers(places: ServerPlaces): FoundServers {
  const { home, project, environment } = places;
  const variables = variablesOf(places);
  const path = ownFile(home);
  const own = readTree(path);
  checkConfigFile(path, /"(?:env|headers|clientSecret|privateKey|CLIENT_SECRET)"\s*:/.test(JSON.stringify(own)));
  const { servers, problems, warnings } = readServers(own["mcpServers"], OWN_FILE, variables);
  const found = { servers: [...servers], problems: [...problems, ...warnings], unapproved: [] as UnapprovedServer[] };
  const approved = new Set(Object.keys(readTree(approvalsFile(home))));
  const taken = new Set(servers.map(({ name }) => name));
  for (const file of PROJECT_FILES) {
    const read = readProjectFile(project, file, variables);
    found.problems.push(...read.problems, ...read.warnings);
    for (const server of read.servers) {
      // A project cannot replace a server of the user.
      if (taken.has(server.name)) continue;
      taken.add(server.name);
      const digest = approvalDigest(server, project, environment["PATH"]);
      if (approved.has(digest)) found.servers.push(server);
      else found.unapproved.push({ server, digest });
    }
  }
  return { ...found, keys: readKeys(own["keys"]) };
}

/** Reads a project's file. A broken one must not prevent the start. */
function readProjectFile(project: string, file: string, variables: VariableSource) {
  try {
    return readServers(readTree(join(project, file))["mcpServers"], file, variables);
  } catch (error) {
    return { servers: [], problems: [{ server: "", text: ExcursorError.from(error).message }], warnings: [] };
  }
}

/** Excludes our own variables, so that config files cannot read our secrets. */
const variablesOf = ({ environment, userHome, project }: ServerPlaces): VariableSource => ({
  environment: Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("EXCURSOR_"))),
  userHome,
  workspaceFolder: project,
});

const MAX_BYTES = 16 * 1024 * 1024;

export type Tree = Readonly<Record<string, unknown>>;

/** Returns the object in a JSON file; an empty one if there is no file. */
export function readTree(path: string): Tree {
  const text = readSmallFile(path, MAX_BYTES, "config");
  if (text === undefined) return {};
  try {
    const tree: unknown = JSON.parse(text);
    if (isJsonObject(tree)) return tree;
  } catch {
    // The parser's own message would quote the text, which may hold a key.
  }
  throw new ExcursorError("bad_config", `${path}: expected a JSON object.`, {
    hint: "Look for a missing or extra comma or quote. Comments are not allowed.",
  });
}

function readKeys(keys: unknown): Readonly<Record<string, readonly string[]>> {
  if (keys === undefined) return {};
  const isList = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((item) => typeof item === "string");
  if (typeof keys === "object" && keys !== null && Object.values(keys).every(isList)) return keys as never;
  // Not ignored: it may be meant to restrict access.
  throw new ExcursorError(
    "bad_config",
    `${OWN_FILE}: keys: expected an object that maps the name of a key to a list of SERVER or SERVER/TOOL.`,
  );
}
