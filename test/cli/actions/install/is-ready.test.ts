import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { isReady } from "../../../../src/cli/actions/install/is-ready.ts";
import { Secret } from "../../../../src/core/secret.ts";

it("a program that accepts connections and never answers has taken the port", async () => {
  const server = createServer((socket) => void socket.on("error", () => {})).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const address = { url: `http://127.0.0.1:${port}`, key: new Secret("key") };
  await expect(isReady(address, 50)).rejects.toMatchObject({ code: "port_taken" });
});
