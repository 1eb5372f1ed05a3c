import fs, { readFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { patchApp, restoreApp } from "../../src/ide/change-app.ts";
import { systemHost } from "../../src/ide/host.ts";
import { locate } from "../../src/ide/patch/locate.ts";
import { bundlePath, DESKTOP, hostOf, isPure, makeApp, snapshot } from "../ide/support/app-tree.ts";
import { adapterModule, type Version } from "../ide/support/cursor-bundles.ts";
import { WORKBENCH, WorkbenchBrowser } from "./support/browser.ts";

let browser: WorkbenchBrowser;
beforeAll(async () => {
  browser = await WorkbenchBrowser.open();
});
afterAll(() => browser.close());

/** The whole of a real workbench, with the class of a version of the IDE at its end. */
const withAdapter = (version: Version): Buffer =>
  Buffer.concat([fs.readFileSync(WORKBENCH), Buffer.from(`\n;globalThis.excursorTest=${adapterModule(version)};\n`)]);

/** Inside the page: an answer in pieces, through the class, into a chat; gives what the chat shows. */
const ANSWER = `(async () => {
  const bubbles = [];
  let generating = [];
  const set = (...path) => {
    const value = path.pop();
    if (path[0] === "generatingBubbleIds") { generating = value; return; }
    const bubble = bubbles.find(({ bubbleId }) => bubbleId === path[1]);
    bubble[path[2]] = typeof value === "function" ? value(bubble[path[2]]) : value;
  };
  const service = {
    getComposerData: () => ({ generatingBubbleIds: generating }),
    getLastBubble: () => bubbles.at(-1),
    getLastAiBubble: () => bubbles.at(-1),
    appendComposerBubbles: (_, more) => bubbles.push(...more),
    updateComposerDataSetStore: (_, work) => work(set),
    updateComposerBubbleSetStore: (_, id, work) => work((key, value) => set("", id, key, value)),
  };
  const services = { invokeFunction: (work) => work({ get: () => service }) };
  const adapter = new globalThis.excursorTest(services, { data: { composerId: "c" } }, undefined, {});
  for (const text of "<think>\\nlet me see\\n</think>\\nYes: a < b.") {
    await adapter.sendUpdate({}, { message: { case: "textDelta", value: { text } } });
  }
  await adapter.sendUpdate({}, { message: { case: "turnEnded", value: {} } });
  adapter.dispose();
  return bubbles.map(({ text, thinking, thinkingDurationMs }) => [text, thinking?.text ?? "", thinkingDurationMs ?? 0]);
})()`;

describe("a real workbench of 19 MB", () => {
  it.each<Version>(["2.5.17", "2.6.19", "3.2.0", "3.22.5"])(
    "with the class of %s boots patched, shows thoughts, and comes back byte for byte",
    async (version) => {
      const tree = makeApp({ version, bundles: { [DESKTOP]: withAdapter(version) } });
      try {
        const bundle = bundlePath(tree.root, DESKTOP);
        const before = snapshot(tree.root);
        const host = { ...systemHost(hostOf(tree)), processes: () => [] };
        expect(await patchApp(host, tree.root, { resign: false })).toMatchObject({ type: "patched" });
        expect(isPure(tree.root)).toBe(true);
        expect(await browser.boot(bundle, ANSWER)).toEqual({
          pageErrors: [],
          served: 1,
          value: [
            ["", "let me see", 1000],
            ["Yes: a < b.", "", 0],
          ],
        });
        expect(await restoreApp(host, tree.root)).toMatchObject({ type: "restored" });
        expect(isPure(tree.root)).toBe(true);
        expect(snapshot(tree.root)).toEqual(before);
      } finally {
        rmSync(tree.folder, { recursive: true });
      }
    },
  );

  it("boots as it came, too, where tags are text", async () => {
    const tree = makeApp({ bundles: { [DESKTOP]: withAdapter("3.2.0") } });
    try {
      const { pageErrors, value } = await browser.boot<string[][]>(bundlePath(tree.root, DESKTOP), ANSWER);
      expect([pageErrors, value[0]?.[0]]).toEqual([[], "<think>\nlet me see\n</think>\nYes: a < b."]);
    } finally {
      rmSync(tree.folder, { recursive: true });
    }
  });

  it("has no such class of its own", () => {
    expect(locate(readFileSync(WORKBENCH))).toEqual({ type: "absent" });
  });
});
