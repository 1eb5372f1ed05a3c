import { fromBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { GetTeamAdminSettingsResponseSchema } from "../../../src/gen/aiserver/v1/dashboard_pb.ts";
import { setUp } from "../support/transports.ts";

const CALLS = [
  "DashboardService/GetTeamAdminSettingsOrEmptyIfNotInTeam",
  "DashboardService/ListMarketplaces",
  "DashboardService/GetEffectiveUserPlugins",
  "DashboardService/GetTeams",
  "DashboardService/GetTeamReposOrEmptyIfNotInTeam",
  "DashboardService/GetManagedSkills",
  "DashboardService/ResolvePluginsByRef",
  "DashboardService/GetUserPrivacyMode",
  "AnalyticsService/BootstrapStatsig",
  "AnalyticsService/TrackEvents",
  "ServerConfigService/GetServerConfig",
];

it("answers what Cursor's clients ask at their start, and counts what it does not know", async () => {
  const { sim } = await setUp("h1");
  const call = (path: string, type: string) =>
    fetch(`${sim.url}/aiserver.v1.${path}`, {
      method: "POST",
      headers: { authorization: "Bearer tester", "content-type": type },
      body: type === "application/json" ? "{}" : "",
    });
  for (const path of CALLS) {
    const [proto, json] = await Promise.all([call(path, "application/proto"), call(path, "application/json")]);
    expect([path, proto.status, json.status]).toEqual([path, 200, 200]);
    // An empty message is valid for any schema.
    if (path.endsWith("InTeam"))
      fromBinary(GetTeamAdminSettingsResponseSchema, new Uint8Array(await proto.arrayBuffer()));
    expect(await json.json()).toBeTypeOf("object");
  }
  expect(sim.stats().unknownCalls).toBe(0);
  const strange = ["NoSuchService/Call", "DashboardService/DeleteAccount", "AnalyticsService/SomethingNew"];
  for (const path of strange) {
    const unknown = await call(path, "application/proto");
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { code: "unimplemented" }]);
  }
  expect(sim.stats().unknownCalls).toBe(strange.length);
});
