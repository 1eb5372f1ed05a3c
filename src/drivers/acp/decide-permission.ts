import type { PermissionOption, RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { PermissionPolicy } from "./agent-settings.ts";

/** What becomes of a request by the policy alone; `ask` if a person has to say. */
export function decidePermission(
  { toolCall, options }: RequestPermissionRequest,
  { allow, others }: PermissionPolicy,
  canAsk: boolean,
): RequestPermissionResponse | "ask" {
  const kind = toolCall.kind ?? "other";
  if (allow.includes("*") || allow.includes(kind)) return choose(options, "allow_once", "allow_always");
  return others === "ask" && canAsk ? "ask" : choose(options, "reject_once", "reject_always");
}

/** The option that a person chose; one that was never offered is none. */
export function answerPermission(
  { options }: RequestPermissionRequest,
  optionId: string | undefined,
): RequestPermissionResponse {
  const chosen = options.find((option) => option.optionId === optionId);
  return chosen ? selected(chosen) : choose(options, "reject_once", "reject_always");
}

export const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

/** Once before always: the next time is decided the next time. */
function choose(options: readonly PermissionOption[], ...kinds: readonly string[]): RequestPermissionResponse {
  const chosen = kinds.map((kind) => options.find((option) => option.kind === kind)).find((option) => option);
  return chosen ? selected(chosen) : CANCELLED;
}

const selected = ({ optionId }: PermissionOption): RequestPermissionResponse => ({
  outcome: { outcome: "selected", optionId },
});
