import { join } from "node:path";
import { checkConfigFile } from "../config/home.ts";
import { ExcursorError } from "../core/errors.ts";
import { readSmallFile } from "../files/read-small-file.ts";
import { approvalDigest } from "./approval.ts";
import type { VariableSource } from "./expand-variables.ts";
import { type ConfigProblem, readServers, type ServerConfig } from "./server-config.ts";

/** Where servers are looked for. */
export interface ServerPlaces {
  /** Excursor's own folder: what stands in its `mcp.json` is the user's own word. */
  readonly home: string;
  /** Where the command was started: what lies there was written by anybody. */
  readonly project: string;
  readonly userHome: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A server of the project's that nobody has approved, or that is not what was approved. */
export interface UnapprovedServer {
  readonly server: ServerConfig;
  readonly digest: string;
}

export interface FoundServers {
  readonly servers: readonly ServerConfig[];
  readonly unapproved: readonly UnapprovedServer[];
  readonly problems: readonly ConfigProblem[];
  /** What each key may use, by the key's name; `*` is for the others. */
  readonly keys: Readonly<Record<string, readonly string[]>>;
}

const OWN_FILE = "mcp.json";
const APPROVALS_FILE = "mcp-approvals.json";
const PROJECT_FILES = [".mcp.json", join(".cursor", "mcp.json")];

export const ownFile = (home: string): string => join(home, OWN_FILE);
export const approvalsFile = (home: string): string => join(home, APPROVALS_FILE);

/** Files of other programs that may be imported from. */
export const foreignFiles = ({ userHome }: ServerPlaces): readonly string[] => [join(userHome, ".cursor", "mcp.json")];

/** Every file that says which servers there are. */
export const serverFiles = ({ home, project }: ServerPlaces): readonly string[] => [
  ownFile(home),
  approvalsFile(home),
  ...PROJECT_FILES.map((file) => join(project, file)),
];

/** All servers of the user's own file, and those of the project's that were approved as they are. */
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
      // A project cannot put something else in the place of what the user has.
      if (taken.has(server.name)) continue;
      taken.add(server.name);
      const digest = approvalDigest(server, project, environment["PATH"]);
      if (approved.has(digest)) found.servers.push(server);
      else found.unapproved.push({ server, digest });
    }
  }
  return { ...found, keys: readKeys(own["keys"]) };
}

/** A broken file of a project's is no reason not to start. */
function readProjectFile(project: string, file: string, variables: VariableSource) {
  try {
    return readServers(readTree(join(project, file))["mcpServers"], file, variables);
  } catch (error) {
    return { servers: [], problems: [{ server: "", text: ExcursorError.from(error).message }], warnings: [] };
  }
}

/** Our own secrets are not for others' configs, whatever they are called there. */
const variablesOf = ({ environment, userHome, project }: ServerPlaces): VariableSource => ({
  environment: Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("EXCURSOR_"))),
  userHome,
  workspaceFolder: project,
});

const MAX_BYTES = 16 * 1024 * 1024;

export type Tree = Readonly<Record<string, unknown>>;

/** The object in a JSON file; an empty one if there is no file. */
export function readTree(path: string): Tree {
  const text = readSmallFile(path, MAX_BYTES, { kind: "config" });
  if (text === undefined) return {};
  try {
    const tree: unknown = JSON.parse(text);
    if (typeof tree === "object" && tree !== null && !Array.isArray(tree)) return tree as Tree;
  } catch {
    // Not in the parser's words: they quote the text, which may hold a key.
  }
  throw new ExcursorError("config", `${path}: expected a JSON object.`, {
    code: "bad_config",
    hint: "Look for a missing or surplus comma or quote; comments are not allowed.",
  });
}

function readKeys(keys: unknown): Readonly<Record<string, readonly string[]>> {
  if (keys === undefined) return {};
  const isList = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((item) => typeof item === "string");
  if (typeof keys === "object" && keys !== null && Object.values(keys).every(isList)) return keys as never;
  // Not passed over: whoever writes this wants to keep something from somebody.
  throw new ExcursorError("config", `${OWN_FILE}: keys: expected lists of server or server/tool, by the key's name.`, {
    code: "bad_config",
  });
}
