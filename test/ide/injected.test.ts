import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { adapterModule, cursorBundle, VERSIONS } from "./support/cursor-bundles.ts";
import {
  type Adapter,
  FakeChat,
  textDelta,
  thinkingCompleted,
  thinkingDelta,
  toolCall,
  turnEnded,
} from "./support/fake-ide.ts";
import { patched } from "./support/patched.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function open(version: (typeof VERSIONS)[number], isPatched = true): { chat: FakeChat; adapter: Adapter } {
  const chat = new FakeChat();
  const bundle = cursorBundle(version);
  return { chat, adapter: chat.openAdapter(isPatched ? patched(bundle) : bundle) };
}

async function send(adapter: Adapter, ...updates: readonly object[]): Promise<void> {
  for (const update of updates) await adapter.sendUpdate({}, update);
}

const words = (text: string) => text.split(/(?<= )/).map(textDelta);

describe.each(VERSIONS)("the patched class of %s", (version) => {
  it("shows a tagged block as a native thought", async () => {
    const { chat, adapter } = open(version);
    await send(adapter, textDelta("<think>\nhm, "));
    vi.advanceTimersByTime(4200);
    await send(
      adapter,
      textDelta("yes\n</think>\n```plaintext:thinkId:4f2a```\nIt is"),
      textDelta(" so."),
      turnEnded(),
    );
    expect(chat.shown).toBe("[hm, yes]4.2/It is so.");
  });

  it("a short thought lasts a second, so that it can be opened", async () => {
    const { chat, adapter } = open(version);
    await send(adapter, textDelta("<think>hm</think>so"));
    expect(chat.shown).toBe("[hm]1/so");
  });

  it("without the patch the tags are text", async () => {
    const { chat, adapter } = open(version, false);
    await send(adapter, textDelta("<think>hm</think>so"));
    expect(chat.shown).toBe("<think>hm</think>so");
  });

  it("every cut of thinking, tools, several blocks and turns shows the same", async () => {
    const N = "89abcdef";
    const steps: readonly (string | object)[] = [
      "<think>\nfirst </thin\n</think>\n```plaintext:thinkId:1a```\nLook: ",
      toolCall("one"),
      `<!--thinking-start:${N}-->\nsecond </think>\n<!--thinking-end:${N}-->\n<!--thinkId:2b-->\nSo`,
      turnEnded(),
      "<think>third, left open",
      toolCall("two"),
      "`<think>` a < b\n<thinking>fourth</thinking>",
      turnEnded(),
      "the end <",
    ];
    const run = async (cut: (text: string) => readonly string[]) => {
      const { chat, adapter } = open(version);
      for (const step of steps) await send(adapter, ...(typeof step === "string" ? cut(step).map(textDelta) : [step]));
      adapter.dispose();
      return chat.shown;
    };
    const expected =
      "[first </thin]1/Look: /{tool}/[second </think>]1/So/[third, left open]1/{tool}/`<think>` a < b\n/[fourth]1/the end <";
    expect(await run((text) => [text])).toBe(expected);
    expect(await run((text) => [...text])).toBe(expected);
    for (let at = 1; at < 90; at++) {
      expect(await run((text) => [text.slice(0, at), text.slice(at)]), `cut at ${at}`).toBe(expected);
    }
    const cuts = fc.array(fc.nat(80), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(cuts, async (places) => {
        const sorted = [0, ...places.sort((a, b) => a - b), 1000];
        expect(await run((text) => sorted.slice(1).map((to, n) => text.slice(sorted[n], to)))).toBe(expected);
      }),
      { numRuns: 40 },
    );
  });

  it("shows what may be a tag when nothing more comes for a while, once", async () => {
    const { chat, adapter } = open(version);
    await send(adapter, textDelta("a\n<thi"));
    expect(chat.shown).toBe("a\n");
    vi.advanceTimersByTime(600);
    expect(chat.shown).toBe("a\n<thi");
    await send(adapter, textDelta("ng>"));
    expect(chat.shown).toBe("a\n<thing>");
  });

  it("gives everything out when it is disposed, and nothing afterwards", async () => {
    const { chat, adapter } = open(version);
    await send(adapter, textDelta("<think>hm </th"));
    adapter.dispose();
    expect(chat.shown).toBe("[hm </th]1");
    vi.advanceTimersByTime(10_000);
    expect(chat.shown).toBe("[hm </th]1");
  });

  it("leaves native thinking as it is, also after a block that was not closed", async () => {
    const { chat, adapter } = open(version);
    await send(adapter, thinkingDelta("native"), thinkingCompleted(3000), ...words("a plain answer "));
    await send(adapter, textDelta("\n<think>mine"), thinkingDelta("native again"), thinkingCompleted(2000));
    expect(chat.shown).toBe("[native]3/a plain answer \n/[mine]1/[native again]2");
  });

  it("two answers at once do not meet", async () => {
    const bundle = patched(cursorBundle(version));
    const [left, right] = [new FakeChat(), new FakeChat()];
    const [one, other] = [left.openAdapter(bundle), right.openAdapter(bundle)];
    await send(one, textDelta("<think>a"));
    await send(other, textDelta("b"));
    await send(one, textDelta("</think>c"));
    expect([left.shown, right.shown]).toEqual(["[a]1/c", "b"]);
  });

  it("an empty block is no thought, and empty text is nothing", async () => {
    const { chat, adapter } = open(version);
    await send(adapter, textDelta(""), textDelta("<think>\n</think>"), textDelta(""), textDelta("a"));
    expect(chat.shown).toBe("a");
  });
});

describe("a version that lacks methods", () => {
  it("works without sendUpdate and dispose", () => {
    const module = adapterModule("3.2.0").replace("dispose(){", "close(){").replace("sendUpdate(", "send(");
    const chat = new FakeChat();
    const adapter = chat.openAdapter(patched(cursorBundle("3.2.0", [module])));
    for (const piece of ["<thi", "nk>hm</think>", "so"]) adapter.handleTextDelta(piece);
    expect(chat.shown).toBe("[hm]1/so");
  });

  it("an error of the IDE's own is the IDE's, and the next text is shown", async () => {
    const chat = new FakeChat();
    const adapter = chat.openAdapter(patched(cursorBundle("3.2.0")));
    const fail = vi.spyOn(chat.bubbles, "push").mockImplementationOnce(() => {
      throw new Error("store");
    });
    await expect(send(adapter, textDelta("<think>a</think>b"))).rejects.toThrow("store");
    fail.mockRestore();
    await send(adapter, textDelta("c"));
    expect(chat.shown).toContain("c");
  });
});
