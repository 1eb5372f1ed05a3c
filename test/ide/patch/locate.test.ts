import { Script } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyInsertions, PATCH_ID, planEdit } from "../../../src/ide/patch/edit.ts";
import { type Finding, locate } from "../../../src/ide/patch/locate.ts";
import { adapterModule, cursorBundle, names, SHAPES, VERSIONS } from "../support/cursor-bundles.ts";
import { patched } from "../support/patched.ts";

const find = (text: string): Finding => locate(Buffer.from(text));
const ADAPTER = adapterModule("3.2.0");
const withAdapter = (change: (adapter: string) => string) => cursorBundle("3.2.0", [change(ADAPTER)]);

describe("locate", () => {
  it.each(VERSIONS)("finds the class of %s among what looks like it", (version) => {
    const bundle = Buffer.from(cursorBundle(version));
    const finding = locate(bundle);
    if (finding.type !== "found") throw new Error(JSON.stringify(finding));
    const { site } = finding;
    expect(site.dialect).toBe(SHAPES[version].isUpdateStyle ? "update" : "plain");
    const lead = (at: number | undefined) => bundle.toString("utf8", (at ?? 0) - 20, at);
    expect(lead(site.bodies.handleTextDelta)).toMatch(/handleTextDelta\(n\)\{$/);
    expect(lead(site.bodies.sendUpdate)).toMatch(/sendUpdate\(n,e\)\{$/);
    expect(lead(site.bodies.dispose)).toMatch(/dispose\(\)\{$/);
  });

  it("does not mind any names that a minifier can give", () => {
    // The letter in front keeps them apart from words of the language and from names of one letter in the class.
    const name = fc
      .string({ unit: fc.constantFrom(..."$_aZ09ü"), minLength: 1, maxLength: 4 })
      .map((tail) => `$${tail}`);
    const seven = fc.uniqueArray(name, { minLength: 7, maxLength: 7 });
    fc.assert(
      fc.property(fc.constantFrom(...VERSIONS), seven, (version, given) => {
        const text = cursorBundle(version, [adapterModule(version, names(given.join(" ")))]);
        expect(find(text).type).toBe("found");
        new Script(patched(text).replace(/import\*as.*?;|export\{.*?\};/g, ""));
      }),
      { numRuns: 60 },
    );
  });

  it.each<[string, (adapter: string) => string]>([
    [
      "other parameter names",
      (adapter) => adapter.replace("handleTextDelta(n){if", "handleTextDelta($,_0={a:'}'},...z0){const n=$;if"),
    ],
    [
      "no dispose and no sendUpdate",
      (adapter) => adapter.replace("dispose(){", "close(){").replace("sendUpdate(", "send("),
    ],
    [
      "characters beyond ASCII before and within",
      (adapter) =>
        `(()=>{"日本 ü 😀";return ${adapter.replace("hasReceivedFirstToken=!1", 'hasReceivedFirstToken=!1,this.ü="日本😀"')}})()`,
    ],
    [
      "braces in literals",
      (adapter) => adapter.replace("handleTextDelta(n){if", 'handleTextDelta(n){`}`;/[}]\\}/g;"}";if'),
    ],
    [
      "a nested class",
      (adapter) =>
        adapter.replace("notifyFirstTokenIfNeeded(){", "notifyFirstTokenIfNeeded(){class X{handleTextDelta(n){}}"),
    ],
    [
      "private members and a superclass",
      (adapter) =>
        adapter
          .replace(
            "class{constructor(n,e",
            "class extends Object{#a=1;static{this.b=2}get #c(){return this.#a}constructor(n,e",
          )
          .replace("this.instantiationService=n,", "super();this.instantiationService=n,"),
    ],
  ])("does not mind %s", (_, change) => {
    const text = withAdapter(change);
    expect(find(text).type).toBe("found");
    // The edit is where it should be, also when characters are longer than a byte.
    expect(patched(text)).toContain(`{/*excursor-think ${PATCH_ID}*/if(__excursorThink.text(this,arguments))return;`);
  });

  it.each<[string, string, Finding | { type: string; reason: unknown }]>([
    ["nothing of the kind", "var a=1;class B{handleTextDelta(n){}}", { type: "absent" }],
    ["an empty file", "", { type: "absent" }],
    [
      "two of the class",
      cursorBundle("3.2.0", [ADAPTER, ADAPTER]),
      { type: "unknown", reason: expect.stringContaining("2 classes") },
    ],
    [
      "one method missing",
      withAdapter((text) => text.replace("handleThinkingCompleted(n){", "other(n){")),
      { type: "unknown", reason: expect.stringContaining("no handleThinkingCompleted") },
    ],
    [
      "a static method",
      withAdapter((text) => text.replace("handleTextDelta(n){if", "static handleTextDelta(n){if")),
      { type: "unknown", reason: expect.stringContaining("another kind") },
    ],
    [
      "an async method",
      withAdapter((text) => text.replace("handleTextDelta(n){if", "async handleTextDelta(n){if")),
      { type: "unknown", reason: expect.stringContaining("another kind") },
    ],
    [
      "a generator",
      withAdapter((text) => text.replace("handleThinkingDelta(n,e){", "*handleThinkingDelta(n,e){")),
      { type: "unknown", reason: expect.stringContaining("another kind") },
    ],
    [
      "no parameter",
      withAdapter((text) => text.replace("handleTextDelta(n){if", "handleTextDelta(){let n;if")),
      { type: "unknown", reason: expect.stringContaining("parameter") },
    ],
    [
      "an arrow function as a field",
      withAdapter((text) => text.replace("handleTextDelta(n){if", "handleTextDelta=n=>{};old(n){if")),
      { type: "unknown", reason: expect.stringContaining("handleTextDelta is a field") },
    ],
    [
      "nothing but such fields",
      "class A{handleTextDelta=n=>{};handleThinkingDelta=(n,e)=>{};handleThinkingCompleted=n=>{}}",
      { type: "unknown", reason: expect.stringContaining("is a field") },
    ],
    [
      "an unpacked parameter",
      withAdapter((text) => text.replace("handleTextDelta(n){if", "handleTextDelta({n}){if")),
      { type: "unknown", reason: expect.stringContaining("parameter") },
    ],
    [
      "another way to tell the duration",
      withAdapter((text) =>
        text.replaceAll("value.thinkingDurationMs", "value.ms").replace('"thinkingDurationMs"', '"ms"'),
      ),
      { type: "unknown", reason: expect.stringContaining("duration") },
    ],
    [
      "a method twice",
      withAdapter((text) => text.replace("handleTextDelta(n){if", "handleTextDelta(n){}handleTextDelta(n){if")),
      { type: "unknown", reason: expect.stringContaining("twice") },
    ],
    [
      "the patch of another tool",
      withAdapter((text) =>
        text.replace(
          "handleTextDelta(n){if",
          "handleTextDelta(n){this.__thinkTagState??={};this._origHandleTextDelta(n)}_origHandleTextDelta(n){if",
        ),
      ),
      { type: "foreign", marks: ["__thinkTagState"] },
    ],
    [
      "a method that another tool has renamed",
      withAdapter((text) =>
        text.replace(
          "handleTextDelta(n){if",
          "handleTextDelta(n){this._origHandleTextDelta(n)}_origHandleTextDelta(n){if",
        ),
      ),
      { type: "foreign", marks: ["_origHandleTextDelta"] },
    ],
    [
      "what is left of ours",
      `${cursorBundle("3.2.0")};__excursorThink`,
      { type: "foreign", marks: ["__excursorThink"] },
    ],
    [
      "half of a bundle",
      cursorBundle("3.2.0").slice(0, cursorBundle("3.2.0").indexOf("handleThinkingCompleted(n)") + 40),
      { type: "absent" },
    ],
  ])("%s is left alone", (_, text, expected) => {
    expect(find(text)).toMatchObject(expected);
  });

  it("knows our own patch, and does not do it twice", () => {
    expect(find(patched(cursorBundle("2.6.19")))).toEqual({ type: "patched", patchId: PATCH_ID });
  });

  it("bytes that are no UTF-8 in front of the class do not move the edit; within it they stop it", () => {
    const text = cursorBundle("3.0.12");
    const broken = (where: number) =>
      Buffer.concat([
        Buffer.from(text.slice(0, where)),
        Buffer.from('"'),
        Buffer.from([0xff, 0xfe]),
        Buffer.from(`",${text.slice(where)}`),
      ]);
    expect(locate(broken(text.indexOf("$i$=class"))).type).toBe("found");
    const inside = text.indexOf('t.updateComposerDataSetStore(this.composerDataHandle,o=>o("conversationMap",r');
    expect(locate(broken(inside))).toMatchObject({ type: "unknown", reason: expect.stringContaining("UTF-8") });
  });
});

describe("planEdit", () => {
  it.each(VERSIONS)("only inserts, and what it inserts is marked (%s)", (version) => {
    const original = cursorBundle(version);
    const text = patched(original);
    expect(text.replace(/\/\*excursor-think [0-9a-f]{12}\*\/.*?\/\*excursor-think\*\//gs, "")).toBe(original);
    expect(text.match(/\/\*excursor-think [0-9a-f]{12}\*\//g)).toHaveLength(4);
  });

  it.each([
    ["nothing", ""],
    ["a licence", "/*! licence */\n"],
    ["a directive", '// x\n"use strict";'],
    ["a directive without a semicolon", "'use strict'\n"],
    ["a byte order mark", "\ufeff/* x */"],
    ["a hashbang", "#!/usr/bin/env node\n"],
  ])("puts the helper behind %s", (_, head) => {
    const bundle = Buffer.from(`${head}var zZ0=${ADAPTER};`);
    const finding = locate(bundle);
    if (finding.type !== "found") throw new Error(finding.type);
    const [first] = planEdit(bundle, finding.site);
    expect(first?.at).toBe(Buffer.byteLength(head));
  });

  it("gives a bundle that differs by the insertions alone, wherever they are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.array(fc.nat(64), { maxLength: 5 }), (bytes, places) => {
        const bundle = Buffer.from(bytes);
        const sorted = places.map((place) => Math.min(place, bundle.length)).sort((a, b) => a - b);
        const out = Buffer.concat([
          ...applyInsertions(
            bundle,
            sorted.map((at) => ({ at, text: "", what: "" })),
          ),
        ]);
        expect(out.equals(bundle)).toBe(true);
      }),
    );
  });
});

describe("the injected code (SEC-65)", () => {
  it("names nothing that reaches beyond the adapter", async () => {
    const { INJECTED_SOURCE } = await import("../../../src/ide/patch/injected-source.ts");
    const forbidden =
      /fetch|XMLHttp|WebSocket|EventSource|sendBeacon|import|require|eval|Function\(|globalThis|window|document|localStorage|process|https?:/;
    expect(INJECTED_SOURCE).not.toMatch(forbidden);
  });
});
