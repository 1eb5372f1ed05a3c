import type { PhaseName } from "../usage/record/records.ts";

/** The types in the API of the dashboard. The page imports them; it shares nothing else with the gateway. */

export interface SessionReply {
  readonly csrf: string;
  /** False: too many pages of this browser have the feed already. */
  readonly hasFeed: boolean;
  readonly version: string;
  readonly isDemo: boolean;
}

export interface ErrorReply {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string };
}

/** What happens now; the feed sends it at most four times a second. Lists are cut, and the counts say by how much. */
export interface NowMessage {
  readonly requests: readonly LiveRow[];
  readonly requestCount: number;
  readonly streams: number;
  readonly parked: readonly ParkedRow[];
  readonly parkedCount: number;
  readonly parkedBytes: number;
  /** The last requests that are over, newest first. */
  readonly recent: readonly RecentRow[];
  /** Questions of agents to the owner, oldest first. `/prompts/{id}` has the whole question. */
  readonly prompts: readonly PromptRow[];
  /** The number of the last line of the log. */
  readonly logLine: number;
}

export interface PromptRow {
  readonly id: string;
  /** The agent's name. */
  readonly from: string;
}

export interface LiveRow {
  readonly id: string;
  readonly key: string;
  readonly client: string;
  readonly model: string;
  readonly route: string;
  readonly phase: PhaseName;
  readonly run: "fresh" | "resumed" | "replayed";
  readonly elapsedMs: number;
  readonly firstTokenMs: number | null;
  readonly outputTokens: number | null;
}

export interface ParkedRow {
  readonly id: string;
  readonly key: string;
  readonly model: string;
  readonly tools: readonly string[];
  readonly bytes: number;
  /** In whole seconds, so that an idle page gets few messages. */
  readonly waitedS: number;
  /** A limit of its key keeps it from going on. */
  readonly isPaused: boolean;
}

export interface RecentRow {
  readonly id: string;
  readonly at: number;
  readonly key: string;
  readonly client: string;
  readonly model: string;
  readonly conversation: string | null;
  readonly status: number;
  readonly error: string | null;
  readonly run: "fresh" | "resumed" | "replayed" | null;
  readonly durationMs: number;
  readonly firstTokenMs: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly costMicros: number | null;
}

export interface KeysReply {
  /** The gateway's own key. */
  readonly own: KeyRow;
  readonly keys: readonly KeyRow[];
  readonly keyCount: number;
  readonly accounts: readonly string[];
}

export interface KeyRow {
  readonly name: string;
  /** Null: the gateway's own account. */
  readonly account: string | null;
  readonly createdAt: string | null;
  readonly streams: number | null;
  /** Since midnight UTC. */
  readonly today: { readonly requests: number; readonly tokens: number; readonly costMicros: number };
  readonly limits: readonly LimitRow[];
}

export interface LimitRow {
  readonly limit: string;
  readonly unit: "tokens" | "dollars" | "requests";
  /** Dollars in millionths. */
  readonly amount: number;
  /** Null for requests, and for a limit of each conversation. */
  readonly used: number | null;
  /** Null if it does not reset. */
  readonly resetsAtMs: number | null;
}

export interface NewKeyReply {
  readonly name: string;
  /** It cannot be shown again. */
  readonly key: string;
}

export interface ModelsReply {
  readonly models: readonly ModelRow[];
  readonly modelCount: number;
}

export interface ModelRow {
  readonly id: string;
  readonly name: string;
  readonly aliases: readonly string[];
  readonly driver: string;
  readonly contextTokens: number;
  readonly supportsImages: boolean;
  readonly isThinking: boolean;
  readonly efforts: readonly string[];
  /** For a million tokens; null if no list has a price. */
  readonly price: { readonly inputMicros: number; readonly outputMicros: number; readonly source: string } | null;
}

export type ProbeReply =
  | {
      readonly model: string;
      readonly isFine: true;
      readonly firstTokenMs: number | null;
      readonly durationMs: number;
      readonly outputTokens: number | null;
      /** The beginning of the answer. */
      readonly text: string;
    }
  | {
      readonly model: string;
      readonly isFine: false;
      readonly durationMs: number;
      readonly message: string;
      readonly hint: string | null;
    };

/** One line of `excursor doctor`. */
export interface HealthLine {
  readonly id: string;
  readonly status: "ok" | "warn" | "fail" | "skip";
  readonly text: string;
  readonly fix?: string | undefined;
}

export interface HealthReply {
  /** When the checks were made. */
  readonly at: number;
  readonly lines: readonly HealthLine[];
}

export interface AccountReply {
  readonly email: string;
  readonly plan: string | null;
  readonly privacy: "on" | "off" | null;
  readonly backend: string;
  /** When the login must be renewed. */
  readonly expiresAt: number | null;
  readonly quota: {
    /** In cents. */
    readonly used: number;
    readonly limit: number;
    /** As Cursor gives it; null if it gives none. */
    readonly percentUsed: number | null;
    readonly resetsAt: number;
  } | null;
  /** The names of the accounts that are signed in here. */
  readonly accounts: readonly string[];
}

export interface AboutReply {
  readonly version: string;
  readonly node: string;
  readonly platform: string;
  readonly pid: number;
  readonly home: string;
  readonly backend: string;
  readonly logLevel: string;
  readonly uptimeS: number;
  readonly memoryBytes: number;
  /** What the gateway records of its exchanges with the backend; null if it records nothing. */
  readonly capture: { readonly file: string; readonly bytes: number; readonly endReason: string | null } | null;
}

export interface LogReply {
  readonly lines: readonly { readonly number: number; readonly json: string }[];
}

/** The MCP servers. Lists are cut. */
export interface ToolsReply {
  readonly servers: readonly McpServerRow[];
  /** Problems of configuration files. */
  readonly problems: readonly string[];
}

export interface McpServerRow {
  readonly name: string;
  readonly state: "disabled" | "not approved" | "needs sign-in" | "failed" | "idle" | "connecting" | "ready";
  /** The program or the address, without secrets. */
  readonly target: string;
  readonly origin: string;
  readonly version: string;
  readonly problems: readonly string[];
  /** What an approval of the server is bound to; null if it needs none. */
  readonly digest: string | null;
  /** A sign-in that was begun on the page and is not complete. */
  readonly signIn: SignInRow | null;
  readonly tools: readonly ToolRow[];
}

export type SignInRow =
  /** `page`: where the user signs in; null until it is known. */
  | { readonly state: "waiting"; readonly page: string | null }
  | { readonly state: "failed"; readonly message: string; readonly hint: string | null };

export interface SignInReply {
  readonly page: string;
}

export interface ToolRow {
  readonly name: string;
  readonly description: string;
  /** Changes with everything that a model sees of the tool. */
  readonly digest: string;
  /** True if the tool has changed since it was approved. It is not offered. */
  readonly isHeld: boolean;
}

export interface AgentsReply {
  readonly agents: readonly AgentRow[];
}

export interface AgentRow {
  readonly model: string;
  readonly name: string;
  readonly state: "missing" | "stopped" | "starting" | "running" | "failed";
  /** How many turns it works on. */
  readonly turns: number;
  /** Why it failed, or how to install it. */
  readonly problem: string | null;
}

/** A question of an agent to the owner. */
export interface PromptReply {
  readonly from: string;
  readonly title: string;
  /** The kind of tool, such as `execute`. */
  readonly kind: string | null;
  /** What the agent has sent about the tool call, as JSON; empty if nothing. */
  readonly detail: string;
  readonly isCut: boolean;
  readonly options: readonly { readonly id: string; readonly name: string; readonly isAllowed: boolean }[];
}

export interface ToolReply {
  readonly description: string;
  readonly schema: object;
}

export interface ToolCallReply {
  readonly isError: boolean;
  readonly text: string;
  readonly durationMs: number;
}

export interface ClientsReply {
  readonly clients: readonly ClientRow[];
  /** Clients without a configuration file, with what to write. */
  readonly snippets: readonly { readonly id: string; readonly title: string; readonly text: string }[];
  readonly cursor: readonly CursorWay[];
}

export interface ClientRow {
  readonly id: string;
  readonly title: string;
  readonly file: string;
  readonly hasFile: boolean;
  /** `changed`: something else has changed the file since. */
  readonly state: "connected" | "changed" | "none";
}

/** One way to use the gateway from Cursor. */
export interface CursorWay {
  readonly id: string;
  readonly title: string;
  readonly purpose: string;
  readonly isOn: boolean;
  /** What the check has found. */
  readonly finding: string;
  readonly command: string;
}

/** What `connect` would change in a file. Secrets are hidden. */
export interface DiffReply {
  readonly file: string;
  readonly lines: readonly DiffLine[];
  readonly isCut: boolean;
}

export interface DiffLine {
  /** `gap` stands for lines that are left out. */
  readonly kind: "same" | "added" | "removed" | "gap";
  readonly text: string;
}

export interface DemoReply {
  readonly requests: number;
}
