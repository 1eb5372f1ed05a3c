import type { ToolKind } from "@agentclientprotocol/sdk";
import { untilAborted } from "../../core/abort-race.ts";
import type { ToolCallPart } from "../../core/turn.ts";
import type { ToolSite } from "./editor-tools.ts";

/** Names of the tools that the user has allowed for the whole session. */
export type Allowed = Set<string>;

/** Asks the user whether a tool may run, unless it is allowed for the whole session. An abort counts as no. */
export async function askPermission(
  { id, name, args }: ToolCallPart,
  { kind, title }: { readonly kind: ToolKind; readonly title: string },
  { client, sessionId, signal }: ToolSite,
  allowed: Allowed,
): Promise<boolean> {
  if (allowed.has(name)) return true;
  const asked = client.request("session/request_permission", {
    sessionId,
    toolCall: { toolCallId: id, kind, title, rawInput: args },
    options: [
      { optionId: "once", name: "Allow", kind: "allow_once" },
      { optionId: "always", name: "Always allow in this session", kind: "allow_always" },
      { optionId: "no", name: "Reject", kind: "reject_once" },
    ],
  });
  const { outcome } = (await untilAborted(asked, signal)) ?? CANCELLED;
  const chosen = outcome.outcome === "selected" ? outcome.optionId : "no";
  if (chosen === "always") allowed.add(name);
  return chosen === "once" || chosen === "always";
}

const CANCELLED = { outcome: { outcome: "cancelled" } } as const;
