import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, it, onTestFinished } from "vitest";
import { GetServerConfigResponseSchema, Http2Config } from "../../../src/gen/aiserver/v1/server_config_pb.ts";
import { ServerExchange } from "../../../src/wire/http/server-exchange.ts";
import { listenForBoth } from "../../../src/wire/http/server-listener.ts";
import { setUpFace } from "./support/stage.ts";

async function startHost(answer: (path: string, authorization: string | undefined) => Uint8Array): Promise<string> {
  const listener = await listenForBoth({
    host: "127.0.0.1",
    port: 0,
    onRequest(request, response) {
      const exchange = new ServerExchange(request, response);
      exchange.respond(200, answer(exchange.path, exchange.header("authorization")), {
        "content-type": "application/proto",
      });
    },
  });
  onTestFinished(() => {
    listener.destroy();
    return listener.close();
  });
  return `http://127.0.0.1:${listener.port}`;
}

const PATH = "/aiserver.v1.ServerConfigService/GetServerConfig";

it("names no host for agent calls, and sends them there over HTTP/2", async () => {
  const region = await startHost(() => Buffer.from("region"));
  const unknownField = Uint8Array.of(0xfa, 0x3f, 1, 7);
  const config = create(GetServerConfigResponseSchema, {
    http2Config: Http2Config.FORCE_BIDI_ENABLED,
    useNlbForNal: true,
    agentUrlConfig: { agentUrl: region, agentnUrl: "http://elsewhere.invalid" },
  });
  const asked: (string | undefined)[] = [];
  const base = await startHost((path, authorization) => {
    if (path === PATH) asked.push(authorization);
    return Buffer.concat([toBinary(GetServerConfigResponseSchema, config), unknownField]);
  });
  const { url } = await setUpFace(base, { trustedOrigin: (named) => (named === region ? named : undefined) });
  const headers = { authorization: "Bearer mine", "content-type": "application/proto" };
  const answer = Buffer.from(await (await fetch(url + PATH, { method: "POST", headers })).arrayBuffer());
  expect(answer).toEqual(Buffer.concat([Buffer.of(0x38, 4), unknownField]));
  expect(fromBinary(GetServerConfigResponseSchema, answer).agentUrlConfig).toBeUndefined();

  const session = connect(url);
  onTestFinished(() => session.destroy());
  const askAgent = (authorization: string, ghost: string) => {
    const path = { ":path": "/agent.v1.AgentService/NameAgent", ":method": "POST" };
    return text(session.request({ ...path, ...headers, authorization, "x-ghost-mode": ghost }).end());
  };
  expect(await askAgent("Bearer mine", "true")).toBe("region");
  // The other host is not trusted with a token.
  expect(await askAgent("Bearer mine", "false")).not.toBe("region");
  expect(asked).toEqual(["Bearer mine"]);
  // Another token of the same account, or a client that kept an earlier answer: the backend is asked once.
  expect(await askAgent("Bearer another", "true")).toBe("region");
  expect(await askAgent("Bearer another", "true")).toBe("region");
  expect(asked).toEqual(["Bearer mine", "Bearer another"]);
});

it("names no host for agent calls as JSON either, and leaves the rest as it is", async () => {
  const answers = ['{"useNlbForNal":true,"agentUrlConfig":{"agentUrl":"https://x"},"new":[1]}', '{ "http2Config": 4 }'];
  for (const [index, expected] of ['{"new":[1]}', '{ "http2Config": 4 }'].entries()) {
    const base = await startHost(() => Buffer.from(answers[index] ?? ""));
    const { url } = await setUpFace(base);
    const headers = { authorization: "Bearer mine", "content-type": "application/json" };
    expect(await (await fetch(url + PATH, { method: "POST", headers, body: "{}" })).text()).toBe(expected);
  }
});

it("sends agent calls to the backend itself if that names no hosts, or does not say", async () => {
  const hosts = [() => new Uint8Array(), () => Buffer.from("this is no message")];
  for (const answer of hosts) {
    const base = await startHost((path) => (path === PATH ? answer() : Buffer.from("base")));
    const { url } = await setUpFace(base);
    const session = connect(url);
    onTestFinished(() => session.destroy());
    const path = { ":path": "/agent.v1.AgentService/NameAgent", ":method": "POST", authorization: "Bearer mine" };
    expect(await text(session.request(path).end())).toBe("base");
  }
});
