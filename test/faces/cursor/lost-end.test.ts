import { once } from "node:events";
import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { ServerExchange } from "../../../src/wire/http/server-exchange.ts";
import { listenForBoth } from "../../../src/wire/http/server-listener.ts";
import { KEY, SIGNED_IN, setUpFace } from "./support/stage.ts";

/** A backend that answers a call at the end of its stream, and not before. */
async function startBackend(): Promise<string> {
  const listener = await listenForBoth({
    host: "127.0.0.1",
    port: 0,
    onRequest(request, response) {
      const exchange = new ServerExchange(request, response);
      request.on("end", () => exchange.respond(200, "", { "content-type": "application/proto" })).resume();
    },
  });
  onTestFinished(() => {
    listener.destroy();
    return listener.close();
  });
  return `http://127.0.0.1:${listener.port}`;
}

/** HAProxy 2.6 loses the end of such a request if it comes while HAProxy connects to the gateway. */
describe("a request over HTTP/2 with an empty body whose stream stays open", () => {
  it.each([
    ["is passed on", "aiserver.v1.DashboardService/GetTeamAdminSettingsOrEmptyIfNotInTeam", SIGNED_IN],
    ["is passed on for its whole answer", "aiserver.v1.ServerConfigService/GetServerConfig", SIGNED_IN],
    ["is passed on after a look at its body", "agent.v1.AgentService/NameAgent", SIGNED_IN],
    ["is answered for the holder of a key", "aiserver.v1.DashboardService/GetTeams", KEY],
  ])("%s", async (_, path, token) => {
    const { url } = await setUpFace(await startBackend());
    const session = connect(url);
    onTestFinished(() => session.destroy());
    const stream = session.request({
      ":method": "POST",
      ":path": `/${path}`,
      "content-type": "application/proto",
      "content-length": "0",
      authorization: `Bearer ${token}`,
    });
    const [headers] = await once(stream, "response");
    expect(headers[":status"]).toBe(200);
    expect(await text(stream)).toBe("");
  });
});
