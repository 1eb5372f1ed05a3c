import type { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";

/** One agent: a program that speaks the Agent Client Protocol on its stdin and stdout. */
export interface AgentSettings {
  /** What it is asked for by: `acp:NAME`. */
  readonly name: string;
  readonly displayName: string;
  readonly command: string;
  readonly args: readonly string[];
  /** What it gets beside the least that a program needs. */
  readonly environment: Readonly<Record<string, Secret>>;
  /** Where it works; absolute. */
  readonly folder: string;
  readonly permissions: PermissionPolicy;
  /** The mode of the agent's own in which it asks before it uses a tool, where it has modes. */
  readonly asking?: AskingMode | undefined;
  /** How to come by the program, where that is known. */
  readonly installHint?: string | undefined;
}

export interface AskingMode {
  readonly mode: string;
  /** Modes in which it uses tools without a question. A session that begins in one of them is changed to `mode`. */
  readonly looser: readonly string[];
}

export interface PermissionPolicy {
  /** Kinds of tools that are allowed without a question: `read`, `edit`, `execute`, …; `*` is all of them. */
  readonly allow: readonly string[];
  /** What becomes of the others. Where nobody can be asked, `ask` denies. */
  readonly others: "ask" | "deny";
}

/** By name. One that cannot be used is its error; the others work. */
export type AgentTable = ReadonlyMap<string, AgentSettings | ExcursorError>;
