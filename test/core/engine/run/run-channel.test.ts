import { describe, expect, it } from "vitest";
import { RunChannel } from "../../../../src/core/engine/run/run-channel.ts";
import { ExcursorError } from "../../../../src/core/errors.ts";
import type { DoneReason } from "../../../../src/core/events.ts";
import { gather, text } from "../../support/turns.ts";

function aChannel() {
  const told: string[] = [];
  const channel = new RunChannel({
    onPressure: () => {},
    onOver: (isBroken) => told.push(isBroken ? "broken" : "ended"),
    onLost: () => told.push("lost"),
  });
  return { channel, told };
}

const done = (reason: DoneReason) => ({ type: "done" as const, reason });
const broken = new ExcursorError("upstream-failed", "broken");

describe("a run's channel", () => {
  it("is finished with the answer, and drops what comes behind it", async () => {
    const { channel, told } = aChannel();
    for (const event of [text("a"), done("stop"), text("b")]) channel.push(event);
    expect(channel.phase).toBe("finished");
    expect(await gather(channel)).toEqual([text("a"), done("stop")]);
    channel.cancel();
    expect(told).toEqual([]);
    channel.end();
    channel.end();
    expect(told).toEqual(["ended"]);
  });

  it("waits after tool calls, and is read again once it has gone on", async () => {
    const { channel } = aChannel();
    expect(channel.resume()).toBe(false);
    channel.push(done("tool-calls"));
    expect(channel.phase).toBe("waiting");
    expect(await gather(channel)).toEqual([done("tool-calls")]);
    expect(channel.resume()).toBe(true);
    channel.push(text("a"));
    channel.push(done("stop"));
    expect(await gather(channel)).toEqual([text("a"), done("stop")]);
  });

  it.each<[string, (channel: RunChannel) => void, string[]]>([
    ["fails", (channel) => channel.fail(broken), ["broken", "lost"]],
    ["ends", (channel) => channel.end(), ["ended", "lost"]],
    ["is cancelled", (channel) => channel.cancel(), ["broken"]],
  ])("tells who parked it if it %s while it waits", (_, act, expected) => {
    const { channel, told } = aChannel();
    channel.push(done("tool-calls"));
    act(channel);
    expect(told).toEqual(expected);
    expect(channel.resume()).toBe(false);
  });

  it("fails once, for its reader as well", async () => {
    const { channel, told } = aChannel();
    channel.push(text("a"));
    channel.fail(broken);
    channel.cancel();
    expect(told).toEqual(["broken"]);
    await expect(gather(channel)).rejects.toBe(broken);
  });

  it("is cancelled by a reader that leaves", async () => {
    const { channel, told } = aChannel();
    channel.push(text("a"));
    for await (const _ of channel) break;
    expect([channel.phase, told]).toEqual(["over", ["broken"]]);
  });
});
