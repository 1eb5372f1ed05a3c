/**
 * Calls that Cursor's clients make when they start and around a run, and whose answer is an empty message: telemetry, and
 * what a team or the marketplace would add. The official client asks for the team's repositories before each of its own
 * tools, and treats a failure as the tool's.
 */
const EMPTY_CALLS: Readonly<Record<"DashboardService" | "AnalyticsService", readonly string[]>> = {
  DashboardService: [
    "GetTeams",
    "GetTeamAdminSettings",
    "GetTeamAdminSettingsOrEmptyIfNotInTeam",
    "GetTeamRepos",
    "GetTeamReposOrEmptyIfNotInTeam",
    "GetTeamRules",
    "GetTeamHooks",
    "GetTeamCommands",
    "GetGlobalCommands",
    "GetManagedSkills",
    "GetEffectiveUserPlugins",
    "ResolvePluginsByRef",
    "ListMarketplaces",
    "ListMarketplacePlugins",
    "ListUserPluginInstalls",
    "GetEffectiveMcpConfigForUser",
    "GetAvailableMcpServers",
  ],
  AnalyticsService: ["TrackEvents", "Batch", "BootstrapStatsig", "GetFirstWindowStatsigDecision", "SubmitLogs"],
};

/** The paths of these calls of one service. */
export const emptyCallPaths = (service: keyof typeof EMPTY_CALLS): readonly string[] =>
  EMPTY_CALLS[service].map((method) => `/aiserver.v1.${service}/${method}`);
