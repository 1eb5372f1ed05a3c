import { ResponsesWS } from "openai/resources/responses/ws";
import { expect, it, onTestFinished } from "vitest";
import { setUpGateway } from "./support/gateway-process.ts";

it("OpenAI's own WebSocket client gets several answers on one connection, and goes on from the last one", async () => {
  const { open } = await setUpGateway();
  const { client } = await open();
  const socket = new ResponsesWS(client);
  onTestFinished(() => socket.close());
  const stream = socket.stream();
  const ask = async (input: string, previous?: string) => {
    socket.send({
      type: "response.create",
      model: "gpt-5.5",
      input,
      store: false,
      ...(previous !== undefined && { previous_response_id: previous }),
    });
    let text = "";
    for (;;) {
      const { value, done } = await stream.next();
      if (done) throw new Error("The connection was closed.");
      if (value.type === "error") throw value.error;
      if (value.type !== "message") continue;
      if (value.message.type === "response.output_text.delta") text += value.message.delta;
      if (value.message.type === "response.completed") return { id: value.message.response.id, text };
    }
  };
  const first = await ask("@sim say one");
  expect(first.text).toBe("one");
  const second = await ask("@sim say {{history}}", first.id);
  expect(second.text).toContain("one");
});
