import { type ClientHttp2Session, connect } from "node:http2";

const rpcs = (service: string, methods: string): readonly string[] =>
  methods
    .trim()
    .split(/\s+/)
    .map((method) => `POST /${service}/${method}`);

/** What Cursor's command line has been seen to ask when it starts. A list of its own, not the table that is tested. */
export const START: readonly string[] = [
  "POST /auth/exchange_user_api_key",
  ...rpcs(
    "agent.v1.AgentService",
    `GetUsableModels GetDefaultModelForCli NameAgent GetAllowedModelIntents NotifyConversationClone
    UploadConversationBlobs`,
  ),
  ...rpcs(
    "aiserver.v1.AiService",
    `GetServerConfig ServerTime GetDefaultModel GetDefaultModelNudgeData NameAgent GetUsableModels AvailableModels
    GetDefaultModelForCli`,
  ),
  ...rpcs("aiserver.v1.ServerConfigService", "GetServerConfig"),
  ...rpcs("aiserver.v1.AuthService", "GetEmail"),
  ...rpcs(
    "aiserver.v1.DashboardService",
    `GetMe GetCliDownloadUrl GetUsageLimitStatusAndActiveGrants IsOnNewPricing GetPlanInfo GetTokenUsage
    GetGlassEarlyPreviewEnrollment GetCurrentPeriodUsage RegisterMarketplaceAndPlugins GetPlugin GetPluginMcpConfig
    BatchGetPluginMcpConfig GetUserPrivacyMode GetTeams GetTeamAdminSettingsOrEmptyIfNotInTeam GetTeamRepos
    GetTeamReposOrEmptyIfNotInTeam GetEffectiveUserPlugins ListMarketplaces ListMarketplacePlugins
    ListUserPluginInstalls ResolvePluginsByRef GetManagedSkills GetGlobalCommands GetTeamCommands GetTeamRules
    GetTeamHooks GetAvailableMcpServers GetEffectiveMcpConfigForUser`,
  ),
  ...rpcs("aiserver.v1.MCPRegistryService", "GetKnownServers"),
  ...rpcs(
    "aiserver.v1.BackgroundComposerService",
    "GetGithubAccessTokenForRepos ListPersonalEnvironments ListTeamEnvironments",
  ),
  ...rpcs(
    "aiserver.v1.RepositoryService",
    `FastRepoInitHandshake FastRepoInitHandshakeV2 SyncMerkleSubtreeV2 FastUpdateFileV2 FastRepoSyncComplete
    EnsureIndexCreated GetUploadLimits GetNumFilesToSend`,
  ),
  ...rpcs("aiserver.v1.FileSyncService", "FSConfig FSIsEnabledForUser FSUploadFile FSSyncFile"),
  ...rpcs("aiserver.v1.AnalyticsService", "BootstrapStatsig TrackEvents Batch SubmitLogs"),
  "POST /v1/traces",
  "GET /auth/full_stripe_profile",
  "GET /auth/stripe_profile",
];

export interface StartAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
}

/** Makes calls as a client does: unary ones over either version of HTTP. */
export class StartClient {
  readonly #url: string;
  readonly #token: string;
  readonly #session: ClientHttp2Session;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
    // Node refuses streams of a session with more than 10 MB to send.
    this.#session = connect(url, { maxSessionMemory: 256 });
  }

  async call(route: string, transport: "h1" | "h2", codec: "proto" | "json", body?: Uint8Array): Promise<StartAnswer> {
    const [method = "", path = ""] = route.split(" ");
    const isRest = !path.includes(".");
    const type = isRest || codec === "json" ? "application/json" : "application/proto";
    const sent = method === "GET" ? undefined : (body ?? Buffer.from(type === "application/json" ? "{}" : ""));
    const headers = { authorization: `Bearer ${this.#token}`, "content-type": type };
    if (transport === "h2") return this.#callH2(method, path, headers, sent);
    const response = await fetch(this.#url + path, { method, headers, ...(sent && { body: Buffer.from(sent) }) });
    return {
      status: response.status,
      type: response.headers.get("content-type") ?? "",
      body: Buffer.from(await response.arrayBuffer()),
    };
  }

  #callH2(method: string, path: string, headers: object, sent: Uint8Array | undefined): Promise<StartAnswer> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({ ":method": method, ":path": path, ...headers });
      const chunks: Buffer[] = [];
      let [status, type] = [0, ""];
      stream.on("response", (head) => {
        status = Number(head[":status"]);
        type = String(head["content-type"] ?? "");
      });
      stream.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", reject);
      stream.on("end", () => resolve({ status, type, body: Buffer.concat(chunks) }));
      stream.end(sent);
    });
  }

  close(): void {
    this.#session.destroy();
  }
}
