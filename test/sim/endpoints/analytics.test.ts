import { describe, expect, test } from "vitest";
import { post, postJson, requestH2, startEndpoints } from "./support.ts";

const PATH = "/aiserver.v1.AnalyticsService";

describe("analytics are swallowed", () => {
  test("BootstrapStatsig has an empty config", async () => {
    await using sim = await startEndpoints();
    const response = await postJson(`${sim.url}${PATH}/BootstrapStatsig`, {});
    expect([response.status, await response.json()]).toEqual([200, { config: "" }]);
  });

  test.each([
    ["application/proto", "application/proto", ""],
    ["application/octet-stream", "application/proto", ""],
    ["application/json; charset=utf-8", "application/json", "{}"],
    ["application/connect+proto", "application/connect+proto", "\x02\0\0\0\x02{}"],
    ["application/grpc-web+proto", "application/grpc-web+proto", "\x80\0\0\0\x10grpc-status: 0\r\n"],
  ])("%s is answered in kind", async (type, answerType, answer) => {
    await using sim = await startEndpoints();
    for (const method of ["TrackEvents", "Batch", "SubmitLogs"]) {
      const response = await post(`${sim.url}${PATH}/${method}`, "not what it should be", { "content-type": type });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe(answerType);
      expect(Buffer.from(await response.arrayBuffer()).toString("latin1")).toBe(answer);
    }
  });

  test("whatever the size, over HTTP/2 as well", async () => {
    await using sim = await startEndpoints();
    const headers = { "content-type": "application/proto" };
    const { status, body } = await requestH2(sim.url, `${PATH}/TrackEvents`, headers, new Uint8Array(4 << 20));
    expect([status, body.length]).toEqual([200, 0]);
  });
});
