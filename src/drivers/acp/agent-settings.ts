import type { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";

/** One agent: a program that speaks the Agent Client Protocol on its stdin and stdout. */
export interface AgentSettings {
  /** The model is `acp:NAME`. */
  readonly name: string;
  readonly displayName: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Environment variables beside the minimal ones. */
  readonly environment: Readonly<Record<string, Secret>>;
  /** The working directory, absolute. */
  readonly folder: string;
  readonly permissions: PermissionPolicy;
  /** The agent's mode in which it asks before it uses a tool, if it has modes. */
  readonly asking?: AskingMode | undefined;
  /** How to install the program, if known. */
  readonly installHint?: string | undefined;
}

export interface AskingMode {
  readonly mode: string;
  /** Modes that use tools without a question. A session that begins in one is switched to `mode`. */
  readonly looser: readonly string[];
}

export interface PermissionPolicy {
  /** Kinds of tools that are allowed without a question: `read`, `edit`, `execute`, …; `*` allows all. */
  readonly allow: readonly string[];
  /** What happens to the others. `ask` denies if the client cannot show questions. */
  readonly others: "ask" | "deny";
}

/** Agents by name. An agent that cannot be used is represented by its error. */
export type AgentTable = ReadonlyMap<string, AgentSettings | ExcursorError>;
