import { expect, it } from "vitest";
import { setUpGateway } from "../gateway/support/gateway-process.ts";
import { answersTo, type Messages, TOOLS } from "../gateway/support/tool-client.ts";

const MAX_RESETS = 20;
const ABORTS = 60;
const ABORTS_AT_ONCE = 15;

/** Each cancels by itself: `cursor` resets what does not listen to a cancelled turn, the older chats know nothing else. */
it.each(["cursor", "cursor-legacy"])("one client's aborts never cost another's stream: %s", async (driver) => {
  const { start, simStats, trace } = await setUpGateway(
    { legacy: "on", maxResets: MAX_RESETS },
    { EXCURSOR_DRIVER: driver, EXCURSOR_LEGACY_CALL: "unified" },
  );
  const { client } = await start();
  const ask = (messages: Messages) =>
    client.chat.completions.create({ model: "gpt-5.5", messages, tools: TOOLS, stream: false });

  const opening: Messages = [{ role: "user", content: '@sim call look {"at":"x"} ;; say {{result}} {{reused}}' }];
  const parked = (await ask(opening)).choices[0]?.message;
  if (!parked) throw new Error("no answer");
  const long = Array.from({ length: 3 }, () => ask([{ role: "user", content: "@sim silent 6000 ;; say to the end" }]));

  const stalled = () => trace.filter(({ kind }) => kind === "fault").length;
  for (let begun = 0; begun < ABORTS; begun += ABORTS_AT_ONCE) {
    const abort = new AbortController();
    const messages: Messages = [{ role: "user", content: `@sim fault stall times=${ABORTS}` }];
    const asked = Array.from({ length: ABORTS_AT_ONCE }, () =>
      client.chat.completions.create({ model: "gpt-5.5", messages }, { signal: abort.signal }),
    );
    await expect.poll(stalled, { timeout: 10_000 }).toBe(begun + ABORTS_AT_ONCE);
    abort.abort();
    await Promise.allSettled(asked);
  }
  for (const { choices } of await Promise.all(long)) expect(choices[0]?.message.content).toBe("to the end");
  const resumed = await ask([...opening, parked, ...answersTo(parked)]);
  expect(resumed.choices[0]?.message.content).toBe("saw x stream");
  await expect.poll(() => simStats().openRuns, { timeout: 10_000 }).toBe(0);
  const { connectionsCut, mostResets } = simStats();
  expect(connectionsCut).toBe(0);
  // All that one connection may be used for.
  expect(mostResets).toBe(16);
});
