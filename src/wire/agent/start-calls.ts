import type { DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Awaitable } from "../../core/awaitable.ts";
import { AgentService } from "../../gen/agent/v1/service_pb.ts";
import { AiService } from "../../gen/aiserver/v1/ai_pb.ts";
import { AuthService } from "../../gen/aiserver/v1/auth_pb.ts";
import { DashboardService, PrivacyMode } from "../../gen/aiserver/v1/dashboard_pb.ts";
import { type Http2Config, ServerConfigService } from "../../gen/aiserver/v1/server_config_pb.ts";

/** Whom the answers speak of. */
export interface StartCaller {
  readonly authId: string;
  readonly userId: number;
  readonly email: string;
  /** The key that the client encrypts paths with: 32 bytes in base64url. */
  readonly pathKey: string;
  readonly http2Config: Http2Config;
  /** Returns the id of the model that a client begins with. */
  readonly defaultModel: () => Awaitable<string>;
  /** Names the conversation that a message opens. */
  readonly nameFor: (message: string) => string;
}

/** What answers a call in place of Cursor. */
type StartAnswer =
  /** An empty message; the body of the call is not kept. `json`: what is sent instead as JSON. */
  | { readonly type: "empty"; readonly json?: object }
  | {
      readonly type: "message";
      readonly method: DescMethodUnary;
      readonly make: (caller: StartCaller, input: never) => Awaitable<Record<string, unknown>>;
    };

export interface StartCall {
  readonly answer: StartAnswer;
  /** What the face does with Cursor's answer to an account. `named-here`: of our own conversations it asks for none. */
  readonly forAccount: "passed-on" | "without-hosts" | "named-here";
}

type Row = readonly [string, StartCall];

/** An answer with content. */
function message<M extends DescMethodUnary>(
  method: M,
  make: (caller: StartCaller, input: MessageShape<M["input"]>) => Awaitable<MessageInitShape<M["output"]>>,
  forAccount: StartCall["forAccount"] = "passed-on",
): Row {
  return [`POST /${method.parent.typeName}/${method.name}`, { answer: { type: "message", method, make }, forAccount }];
}

const empty = (route: string, json?: object): Row => [
  route,
  { answer: { type: "empty", ...(json && { json }) }, forAccount: "passed-on" },
];

const emptyOf = (service: string, methods: string): readonly Row[] =>
  methods
    .trim()
    .split(/\s+/)
    .map((method) => empty(`POST /${service}/${method}`));

const serverConfig = ({ http2Config, pathKey }: StartCaller) => ({
  http2Config,
  indexingConfig: { defaultUserPathEncryptionKey: pathKey },
});

const STRIPE_PROFILE = {
  membershipType: "pro",
  individualMembershipType: "pro",
  subscriptionStatus: "active",
  isTeamMember: false,
};

/**
 * The calls that Cursor's clients make when they start and around a run, apart from the lists of models: by `METHOD /path`,
 * where `*` is the rest. One that fails ends the command line, or every tool of its agent. The answers are those of an account
 * without a team; indexing, file sync and the store of conversations are off.
 */
export const START_CALLS: ReadonlyMap<string, StartCall> = new Map<string, StartCall>([
  message(ServerConfigService.method.getServerConfig, serverConfig, "without-hosts"),
  message(AiService.method.getServerConfig, serverConfig, "without-hosts"),
  message(AiService.method.serverTime, () => ({ receiveTimestamp: Date.now(), transmitTimestamp: Date.now() })),
  message(AiService.method.getDefaultModel, async ({ defaultModel }) => ({ model: await defaultModel() })),
  message(AiService.method.nameAgent, ({ nameFor }, input) => ({ name: nameFor(input.userMessage) }), "named-here"),
  message(AgentService.method.nameAgent, ({ nameFor }, input) => ({ name: nameFor(input.userMessage) }), "named-here"),
  message(AuthService.method.getEmail, ({ email }) => ({ email })),
  message(DashboardService.method.getMe, ({ authId, userId, email }) => ({ authId, userId, email })),
  message(DashboardService.method.getUserPrivacyMode, () => ({ privacyMode: PrivacyMode.NO_STORAGE })),
  ...emptyOf("agent.v1.AgentService", "GetAllowedModelIntents NotifyConversationClone UploadConversationBlobs"),
  ...emptyOf("aiserver.v1.AiService", "HealthCheck GetDefaultModelNudgeData"),
  ...emptyOf(
    "aiserver.v1.DashboardService",
    `GetCliDownloadUrl GetCurrentPeriodUsage GetUsageLimitStatusAndActiveGrants IsOnNewPricing GetPlanInfo GetTokenUsage
    GetGlassEarlyPreviewEnrollment GetTeams GetTeamAdminSettings GetTeamAdminSettingsOrEmptyIfNotInTeam GetTeamRepos
    GetTeamReposOrEmptyIfNotInTeam GetTeamRules GetTeamHooks GetTeamCommands GetGlobalCommands GetManagedSkills
    GetEffectiveUserPlugins ResolvePluginsByRef RegisterMarketplaceAndPlugins GetPlugin GetPluginMcpConfig
    BatchGetPluginMcpConfig ListMarketplaces ListMarketplacePlugins ListUserPluginInstalls GetEffectiveMcpConfigForUser
    GetAvailableMcpServers`,
  ),
  ...emptyOf(
    "aiserver.v1.BackgroundComposerService",
    "GetGithubAccessTokenForRepos ListPersonalEnvironments ListTeamEnvironments",
  ),
  ...emptyOf("aiserver.v1.MCPRegistryService", "GetKnownServers"),
  ...emptyOf("aiserver.v1.NetworkService", "IsConnected"),
  ...emptyOf("aiserver.v1.RepositoryService", "*"),
  ...emptyOf("aiserver.v1.FileSyncService", "*"),
  ...emptyOf("aiserver.v1.AnalyticsService", "TrackEvents Batch GetFirstWindowStatsigDecision SubmitLogs"),
  // Proto JSON would omit the empty string, but clients read it.
  empty("POST /aiserver.v1.AnalyticsService/BootstrapStatsig", { config: "" }),
  empty("POST /v1/traces"),
  empty("GET /auth/full_stripe_profile", STRIPE_PROFILE),
  empty("GET /auth/stripe_profile", STRIPE_PROFILE),
]);

/** Returns the row for a call. */
export const findStartCall = (method: string, path: string): StartCall | undefined =>
  START_CALLS.get(`${method} ${path}`) ?? START_CALLS.get(`${method} ${path.slice(0, path.lastIndexOf("/"))}/*`);
