import type { PermissionOption, RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { PermissionPolicy } from "./agent-settings.ts";

/** Decides a request by the policy. Returns `ask` if a person must decide. */
export function decidePermission(
  { toolCall, options }: RequestPermissionRequest,
  { allow, others }: PermissionPolicy,
  canAsk: boolean,
): RequestPermissionResponse | "ask" {
  const kind = toolCall.kind ?? "other";
  if (allow.includes("*") || allow.includes(kind)) return choose(options, "allow_once", "allow_always");
  return others === "ask" && canAsk ? "ask" : choose(options, "reject_once", "reject_always");
}

/** Returns the option that a person chose. An unknown option counts as a rejection. */
export function answerPermission(
  { options }: RequestPermissionRequest,
  optionId: string | undefined,
): RequestPermissionResponse {
  const chosen = options.find((option) => option.optionId === optionId);
  return chosen ? selected(chosen) : choose(options, "reject_once", "reject_always");
}

export const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

/** Prefers "once" over "always". */
function choose(options: readonly PermissionOption[], ...kinds: readonly string[]): RequestPermissionResponse {
  const chosen = kinds.map((kind) => options.find((option) => option.kind === kind)).find((option) => option);
  return chosen ? selected(chosen) : CANCELLED;
}

const selected = ({ optionId }: PermissionOption): RequestPermissionResponse => ({
  outcome: { outcome: "selected", optionId },
});
