import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { isGivenUp } from "../../sim/support/given-up.ts";
import { setUpGateway } from "../support/gateway-process.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { answersTo, converse, TOOLS } from "../support/tool-client.ts";

const PROMPT = '@sim call look {"at":"secret-argument"} ;; say {{result}} {{reused}}';
const opening: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: PROMPT }];

/** The call log lines, as `event reason`. */
const callLogOf = (log: string): string[] =>
  log
    .split("\n")
    .filter((line) => line.includes('"msg":"tool call"'))
    .map((line) => JSON.parse(line) as { event: string; reason?: string })
    .map(({ event, reason }) => [event, reason].filter(Boolean).join(" "));

describe("runs that wait", () => {
  it("leave a line for each thing that happens to a call, and nothing of what was said", async () => {
    const { client, log } = await sharedGateway();
    const conversation = await converse(client, opening);
    expect(conversation.said.at(-1)).toBe("saw secret-argument stream");
    const { messages } = conversation;
    await client.chat.completions.create({ model: "gpt-5.5", messages: messages.slice(0, -1), tools: TOOLS });
    await expect.poll(() => callLogOf(log())).toEqual(["asked", "answered", "replayed repeated"]);
    const [line] = log()
      .split("\n")
      .filter((text) => text.includes('"event":"answered"'));
    expect(JSON.parse(line ?? "")).toMatchObject({
      level: "info",
      requestId: expect.any(String),
      principal: expect.any(String),
      call: expect.stringMatching(/^sess_[\w-]{22}__call_0$/),
      tool: "look",
      waitedMs: expect.any(Number),
    });
    expect(log()).not.toContain("secret-argument");
  });

  it("are left nowhere where max_tokens cuts their tool calls", async () => {
    const { open, simStats } = await setUpGateway();
    const { client, log } = await open();
    for (let n = 0; n < 10; n++) {
      const { choices } = await client.chat.completions.create({
        model: "gpt-5.5",
        messages: [{ role: "user", content: `@sim call look {"at":"${"x".repeat(100)}"} ;; say never` }],
        tools: TOOLS,
        max_completion_tokens: 2,
      });
      expect(choices[0]?.finish_reason).toBe("length");
    }
    await expect.poll(() => simStats().openRuns).toBe(0);
    expect(callLogOf(log())).toEqual([]);
  });

  it.each([
    ["expired", "EXCURSOR_LIMITS_PARKED_MS", "1"],
    ["evicted", "EXCURSOR_LIMITS_PARKED_RUNS", "0"],
    ["evicted", "EXCURSOR_LIMITS_PARKED_RUNS_PER_KEY", "0"],
    ["evicted", "EXCURSOR_LIMITS_PARKED_BYTES", "1000"],
    ["evicted", "EXCURSOR_LIMITS_PARKED_BYTES_PER_KEY", "1000"],
  ])("are given up within their limits, and the client does not notice: %s by %s", async (reason, variable, value) => {
    const { open, trace } = await setUpGateway({}, { [variable]: value });
    const { client, log } = await open();
    const first = await client.chat.completions.create({ model: "gpt-5.5", messages: opening, tools: TOOLS });
    await expect.poll(() => trace.some(isGivenUp)).toBe(true);
    const message = first.choices[0]?.message;
    if (!message) throw new Error("no answer");
    const { said } = await converse(client, [...opening, message, ...answersTo(message)]);
    expect(said.at(-1)).toBe("saw secret-argument fresh");
    await expect.poll(() => callLogOf(log())).toEqual(["asked", `lost ${reason}`, `replayed ${reason}`]);
  });
});
