import { connect } from "node:http2";
import { expect, it } from "vitest";
import { ServerExchange } from "../../../src/wire/http/server-exchange.ts";
import { listenForBoth } from "../../../src/wire/http/server-listener.ts";

it("a large message that waits for its reader does not stop other streams of the connection", async () => {
  const listener = await listenForBoth({
    host: "127.0.0.1",
    port: 0,
    onRequest(request, response) {
      const exchange = new ServerExchange(request, response);
      if (exchange.path === "/small") exchange.respond(200, "ok", {});
      else {
        exchange.open(200, {});
        exchange.write(Buffer.alloc(32 << 20));
      }
    },
  });
  const session = connect(`http://127.0.0.1:${listener.port}`);
  session.on("error", () => {});
  try {
    const large = session.request({ ":path": "/large" });
    large.on("error", () => {});
    await new Promise((resolve) => large.once("response", resolve));
    const small = session.request({ ":path": "/small" });
    const status = await new Promise((resolve) => {
      small.once("response", (headers) => resolve(headers[":status"])).once("error", resolve);
    });
    expect(status).toBe(200);
  } finally {
    session.destroy();
    listener.destroy();
    await listener.close();
  }
});
