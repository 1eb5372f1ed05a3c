import { describe, expect, it, onTestFinished } from "vitest";
import { setUpGateway } from "../gateway/support/gateway-process.ts";
import { answersTo, converse, type Messages, TOOLS } from "../gateway/support/tool-client.ts";
import { startRelay } from "./support/relay.ts";

const opening: Messages = [{ role: "user", content: '@sim call look {"at":"a"} ;; say {{result}} {{reused}}' }];

/** Asks, and gives the follow-up that a client sends when it has done what it was asked for. */
async function followUpOf(client: Parameters<typeof converse>[0]): Promise<Messages> {
  const { choices } = await client.chat.completions.create({ model: "gpt-5.5", messages: opening, tools: TOOLS });
  const answer = choices[0]?.message;
  if (!answer) throw new Error("no answer");
  return [...opening, answer, ...answersTo(answer)];
}

describe("runs that wait", () => {
  it("and do not stir after they got their results are told anew after 20 s (REL-31)", async () => {
    const { start, simUrl } = await setUpGateway();
    const relay = await startRelay(() => simUrl);
    onTestFinished(() => relay.close());
    const { client, log } = await start("--upstream", relay.url);
    const followUp = await followUpOf(client);
    relay.stallStreams();
    const { said } = await converse(client, followUp);
    expect(said).toEqual(["saw a fresh"]);
    await expect.poll(log).toMatch(/"event":"replayed","reason":"stalled"/);
  });

  it.each([
    ["SIGTERM", "saw a stream"],
    ["SIGKILL", "saw a fresh"],
  ] as const)(
    "are resumed from their checkpoints or told anew by the next gateway, all 60 of them, after %s (REL-34)",
    async (signal, expected) => {
      const { start, trace } = await setUpGateway();
      const first = await start();
      const followUps = await Promise.all(Array.from({ length: 60 }, () => followUpOf(first.client)));
      await first.stop(signal);
      const closed = () => trace.filter(({ kind }) => kind === "reset" || kind === "end").length;
      await expect.poll(closed, { timeout: 10_000 }).toBe(60);
      const { client } = await start();
      const answers = await Promise.all(followUps.map((messages) => converse(client, messages)));
      for (const { said } of answers) expect(said).toEqual([expected]);
    },
  );
});
