import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { parseScripts } from "../../../src/sim/script/parse.ts";
import { play, type Stage } from "../../../src/sim/script/play.ts";

/** Plays a script for a reader that takes each piece late, or at once. Returns what the reader got, in order. */
async function played(script: string, isSlow: boolean): Promise<readonly string[]> {
  const seen: string[] = [];
  const take = (what: string) => {
    if (!isSlow) return void seen.push(what);
    return setImmediate().then(() => void seen.push(what));
  };
  const taken = async (what: string) => void (await take(what));
  const stage: Stage = {
    received: { system: "", history: "", images: "", tools: "", model: "", user: "", reused: "fresh" },
    offers: () => true,
    text: (delta) => take(`text ${delta.trim()}`),
    thinking: (delta) => take(`thinking ${delta.trim()}`),
    thinkingCompleted: () => void seen.push("thought"),
    call: async (batch) => {
      await taken(`call ${batch.map(({ name }) => name)}`);
      return batch.map(() => "");
    },
    exec: async (batch) => batch.map(() => ""),
    ask: async () => "",
    fault: async () => {},
    sleep: () => taken("sleep"),
    checkpoint: (stepsDone) => taken(`done ${stepsDone}`),
    skip: () => {},
  };
  const steps = parseScripts(`@sim ${script}`)[0]?.steps ?? [];
  await play({ steps, from: 0, results: [], echo: "", isDue: () => true }, stage);
  return seen;
}

describe("the steps of a script", () => {
  it.each([
    ["say a b", ["text a", "text b"]],
    ["think a b ;; say c", ["thinking a", "thinking b", "thought", "done 1", "text c"]],
    ["tokens 2 0 ;; say c", ["text t0", "text t1", "done 1", "text c"]],
    ["silent 1 ;; say c", ["sleep", "done 1", "text c"]],
    ["think a ;; call look {} ;; call see {}", ["thinking a", "thought", "done 1", "call look,see"]],
  ])("end before the next begins, however slow the reader is: %s", async (script, expected) => {
    expect(await played(script, false)).toEqual(expected);
    expect(await played(script, true)).toEqual(expected);
  });
});
