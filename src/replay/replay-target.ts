import { randomUUID } from "node:crypto";
import { isSecretHeader } from "../capture/mask/mask-headers.ts";
import type { CallHead } from "../capture/records.ts";
import type { Secret } from "../core/secret.ts";
import { AgentService } from "../gen/agent/v1/service_pb.ts";
import { AiService } from "../gen/aiserver/v1/ai_pb.ts";
import { AuthService } from "../gen/aiserver/v1/auth_pb.ts";
import { DashboardService } from "../gen/aiserver/v1/dashboard_pb.ts";
import { ServerConfigService } from "../gen/aiserver/v1/server_config_pb.ts";
import type { HttpTransport } from "../wire/http/http.ts";
import type { IdMap } from "./id-map.ts";

/** The backend that recorded calls are sent to. */
export interface ReplayTarget {
  readonly origin: string;
  readonly transports: { readonly h1: HttpTransport; readonly h2: HttpTransport };
  /** True: pauses of the recorded client are kept. */
  readonly isPaced: boolean;
  /** True: also calls that are neither runs nor known reads. */
  readonly sendsAll?: boolean;
  /** A call that brings nothing for so long is over. */
  readonly timeoutMs: number;
  /** Returns the headers of a recorded call, with the credential of now and a request id of its own. */
  headersFor(head: CallHead, ids: IdMap): Readonly<Record<string, string>>;
}

/** Headers of the connection or of the body's encoding, which this client sets itself. */
const OWN =
  /^(?:host|connection|content-length|content-encoding|transfer-encoding|te|trailer|upgrade|keep-alive|accept-encoding|connect-accept-encoding|connect-content-encoding|expect|proxy-.*)$/;

/** The calls that somebody else's capture may make in the user's name: runs, and reads without a consequence. */
const CALLS: ReadonlySet<string> = new Set([
  "/aiserver.v1.ChatService/StreamUnifiedChatWithTools",
  ...[
    AgentService.method.run,
    AgentService.method.nameAgent,
    AgentService.method.getUsableModels,
    AgentService.method.getDefaultModelForCli,
    AiService.method.nameAgent,
    AiService.method.getUsableModels,
    AiService.method.getDefaultModelForCli,
    AiService.method.getDefaultModel,
    AiService.method.availableModels,
    AiService.method.getServerConfig,
    AiService.method.serverTime,
    AuthService.method.getEmail,
    DashboardService.method.getMe,
    DashboardService.method.getUserPrivacyMode,
    ServerConfigService.method.getServerConfig,
  ].map(({ parent, name }) => `/${parent.typeName}/${name}`),
]);

/** Its headers, beside those that this client sets. */
const HEADERS =
  /^(?:accept|content-type|user-agent|connect-protocol-version|connect-timeout-ms|x-request-id|x-session-id|x-ghost-mode|x-cursor-(?:client-[a-z-]{1,32}|timezone|streaming))$/;

export const isAllowedCall = ({ method }: CallHead, path: string): boolean => method === "POST" && CALLS.has(path);

/** The recorded headers that are sent only if all are. */
export const otherHeaders = ({ headers }: CallHead): readonly string[] =>
  Object.keys(headers).filter((name) => isRecorded(name) && !HEADERS.test(name));

const isRecorded = (name: string): boolean =>
  !OWN.test(name) && !isSecretHeader(name) && name !== "x-original-request-id";

/** Secrets are masked in a capture, so only `token` can sign the calls. */
export function headersWith(token: Secret | undefined, sendsAll = false): ReplayTarget["headersFor"] {
  return ({ headers }, ids) => {
    const sent: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) {
      if (!isRecorded(name) || !(sendsAll || HEADERS.test(name))) continue;
      sent[name] = Buffer.from(ids.apply(Buffer.from(value))).toString();
    }
    sent["x-request-id"] = randomUUID();
    if (token) sent["authorization"] = `Bearer ${token.reveal()}`;
    return sent;
  };
}
