import { createClient, type Transport } from "@connectrpc/connect";
import {
  connectNodeAdapter,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { expect, it, onTestFinished } from "vitest";
import { AgentService } from "../../../src/gen/agent/v1/service_pb.ts";
import { DashboardService } from "../../../src/gen/aiserver/v1/dashboard_pb.ts";
import { ServerConfigService } from "../../../src/gen/aiserver/v1/server_config_pb.ts";
import { listenForBoth } from "../../../src/wire/http/server-listener.ts";
import { SIGNED_IN, setUpFace } from "./support/stage.ts";

/** A backend that speaks Connect, gRPC and gRPC-Web. */
async function startBackend(): Promise<string> {
  const answer = connectNodeAdapter({
    routes: ({ service }) => {
      service(DashboardService, { getMe: () => ({ userId: 7 }) });
      service(AgentService, { getUsableModels: () => ({ models: [{ modelId: "default" }] }) });
      service(ServerConfigService, { getServerConfig: () => ({ useNlbForNal: true }) });
    },
  });
  const listener = await listenForBoth({
    host: "127.0.0.1",
    port: 0,
    onRequest: (request, response) => answer(request as never, response as never),
  });
  onTestFinished(() => {
    listener.destroy();
    return listener.close();
  });
  return `http://127.0.0.1:${listener.port}`;
}

type MakeTransport = (options: {
  baseUrl: string;
  httpVersion: "2";
  interceptors: Parameters<typeof createGrpcTransport>[0]["interceptors"] & object;
}) => Transport;

it.each<[string, MakeTransport, readonly string[]]>([
  ["Connect", createConnectTransport, ["default", "excursor/local", "excursor/acp:agent"]],
  // Frames are around the messages of these two, and no client of Cursor's uses them: they are passed on as they are.
  ["gRPC", createGrpcTransport, ["default"]],
  ["gRPC-Web", createGrpcWebTransport, ["default"]],
])("a client that speaks %s can read the answers that the face may change", async (_, make, ids) => {
  const { url } = await setUpFace(await startBackend(), { serveRun: (peer) => peer.end() });
  const transport = make({
    baseUrl: url,
    httpVersion: "2",
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${SIGNED_IN}`);
        return next(request);
      },
    ],
  });
  const { models } = await createClient(AgentService, transport).getUsableModels({});
  expect(models.map(({ modelId }) => modelId)).toEqual(ids);
  const { useNlbForNal } = await createClient(ServerConfigService, transport).getServerConfig({});
  expect(useNlbForNal).toBe(ids.length === 1);
});
