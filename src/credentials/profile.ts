import type { Secret } from "../core/secret.ts";
import { DashboardService, PrivacyMode } from "../gen/aiserver/v1/dashboard_pb.ts";
import { callHeaders } from "../wire/agent/headers.ts";
import { callUnary, requestJson } from "../wire/connect/unary.ts";
import type { HttpTransport } from "../wire/http/http.ts";
import { loadIsInSlowPool, loadPeriodUsage, type PlanUsage } from "./account-usage.ts";

/** What the backend says about an account. Only the email address is certain. */
export interface Profile {
  readonly email: string;
  readonly plan: string | undefined;
  readonly privacy: "on" | "off" | undefined;
  readonly quota: Quota | undefined;
}

export interface Quota extends PlanUsage {
  readonly resetsAtMs: number;
  /** True if Cursor answers slowly until then. */
  readonly isInSlowPool: boolean | undefined;
}

export interface ProfileOptions {
  readonly transport: HttpTransport;
  readonly origin: string;
  readonly clientVersion?: string | undefined;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 15_000;

/** Rejects if the token is not accepted. */
export async function loadProfile(token: Secret, options: ProfileOptions): Promise<Profile> {
  const { transport, origin, clientVersion, timeoutMs = TIMEOUT_MS } = options;
  const headers = callHeaders("unary-proto", {
    token: token.reveal(),
    ...(clientVersion === undefined ? {} : { clientVersion }),
  });
  const call = { transport, origin, headers, timeoutMs };
  const { method } = DashboardService;
  const authorization = headers["authorization"] ?? "";
  const [me, stripe, privacy, usage, isInSlowPool] = await Promise.all([
    callUnary({ ...call, method: method.getMe, input: {} }),
    orNothing(requestJson({ ...call, headers: { authorization }, path: "/auth/full_stripe_profile" })),
    orNothing(callUnary({ ...call, method: method.getUserPrivacyMode, input: {} })),
    orNothing(loadPeriodUsage(token, options)),
    orNothing(loadIsInSlowPool(token, options)),
  ]);
  const plan = (stripe as { readonly membershipType?: unknown } | undefined)?.membershipType;
  return {
    email: me.email,
    plan: typeof plan === "string" ? plan : undefined,
    privacy: privacy && privacyOf(privacy.privacyMode),
    quota: usage?.plan && { ...usage.plan, resetsAtMs: usage.endMs, isInSlowPool },
  };
}

const orNothing = <T>(promise: Promise<T>): Promise<T | undefined> => promise.catch(() => undefined);

function privacyOf(mode: PrivacyMode): Profile["privacy"] {
  if (mode === PrivacyMode.NO_STORAGE || mode === PrivacyMode.NO_TRAINING) return "on";
  return mode === PrivacyMode.UNSPECIFIED ? undefined : "off";
}
