import { describe, expect, it } from "vitest";
import type { Run } from "../../../src/core/driver.ts";
import type { ToolDefinition, ToolMessage } from "../../../src/core/turn.ts";
import { aTurn, open, read, user } from "./support/driver-stage.ts";
import { callLook, checkpoint, setUpScripted, text, turnEnded } from "./support/scripted-backend.ts";

/** What records of the real backend show. The simulator's tests cite the same numbers. */

const look: ToolDefinition = { name: "look", description: "looks", schema: { type: "object", properties: {} } };
const result = (callId: string, said: string): ToolMessage => ({
  role: "tool",
  callId,
  content: [{ type: "text", text: said }],
  isError: false,
});

/** Reads a run up to its calls, and answers each with its own id. */
async function answerCalls(run: Run): Promise<readonly string[]> {
  const { events } = await read(run);
  const ids = events.flatMap((event) => (event.type === "tool-call" ? [event.id] : []));
  run.submitResults(
    ids.map((id) => result(id, `result of ${id}`)),
    [],
  );
  return ids;
}

describe.each(["h2", "h1"] as const)("the driver follows the records over %s", (transport) => {
  it("fact 8: does not echo the exec id of a request", async () => {
    const { driver, backend } = await setUpScripted(transport, [
      async (run) => {
        const { message } = { message: callLook(0, "c") };
        if (message.case === "execServerMessage")
          run.send({ ...message, value: { ...message.value, execId: "token" } });
        await run.untilResults(1);
        run.end([text("done"), turnEnded]);
      },
    ]);
    const run = open(driver, aTurn([user("hi")], { tools: [look] }));
    await answerCalls(run);
    expect((await read(run)).text).toBe("done");
    const results = backend.runs[0]?.received.flatMap((message) =>
      message.case === "execClientMessage" ? [message.value.execId] : [],
    );
    expect(results).toEqual([""]);
  });

  it("fact 16: a deleted file has a size, by each of the client's tools", async () => {
    const tools = ["delete_file", "bash"].map((name) => ({
      name,
      description: "",
      schema: {
        type: "object",
        properties: { [name === "bash" ? "command" : "path"]: { type: "string" } },
        required: [name === "bash" ? "command" : "path"],
      },
    }));
    for (const tool of tools) {
      const { driver, backend } = await setUpScripted(transport, [
        async (run) => {
          const value = { path: "/a", toolCallId: "c" };
          run.send({ case: "execServerMessage", value: { id: 0, message: { case: "deleteArgs", value } } });
          await run.untilResults(1);
          run.end([turnEnded]);
        },
      ]);
      const run = open(driver, aTurn([user("hi")], { tools: [tool] }));
      const { events } = await read(run);
      const call = events.find((event) => event.type === "tool-call");
      expect(call).toMatchObject({ name: tool.name });
      run.submitResults([result("c", "")], []);
      await read(run);
      expect(backend.runs[0]?.results[0]?.text).toMatch(/"fileSize":"[1-9]/);
    }
  });

  it("an argument without a kind, or with a number that JSON lacks, is null", async () => {
    const { driver } = await setUpScripted(transport, [
      (run) => {
        const list = { case: "listValue" as const, value: { values: [{}] } };
        const args = {
          none: {},
          list: { kind: list },
          nan: { kind: { case: "numberValue" as const, value: Number.NaN } },
        };
        run.send(callLook(0, "c", args), checkpoint("old"));
      },
    ]);
    const run = open(driver, aTurn([user("hi")], { tools: [look] }));
    const { events, error } = await read(run);
    run.cancel();
    expect(error).toBeUndefined();
    expect(events).toContainEqual({
      type: "tool-call",
      id: "c",
      name: "look",
      args: { none: null, list: [null], nan: null },
    });
  });

  it.runIf(transport === "h1")("fact 27: reads a download that is named as an event stream", async () => {
    const { driver, backend } = await setUpScripted(transport, [(run) => run.end([text("hello"), turnEnded])]);
    backend.contentType = "text/event-stream";
    expect(await read(open(driver, aTurn([user("hi")])))).toMatchObject({ text: "hello", error: undefined });
  });
});
