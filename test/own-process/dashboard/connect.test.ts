import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { lineDiff } from "../../../src/app/dashboard/line-diff.ts";
import type { ClientsReply, DiffReply } from "../../../src/dashboard/messages.ts";
import { openDashboard } from "../../dashboard/support/open-dashboard.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";

let userHome: string;

beforeEach(() => {
  userHome = mkdtempSync(join(tmpdir(), "excursor-user-"));
  vi.stubEnv("HOME", userHome);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(userHome, { recursive: true, force: true });
});

describe("the page Connect", () => {
  it("shows what connect would change, without keys, and changes nothing", async () => {
    const file = join(userHome, ".claude", "settings.json");
    mkdirSync(join(userHome, ".claude"));
    const before = `{\n  "theme": "dark",\n  "apiKey": "sk-of-another-service"\n}\n`;
    writeFileSync(file, before);
    const visitor = await openDashboard();
    const { clients, cursor } = (await (await visitor.get("/clients")).json()) as ClientsReply;
    expect(clients.find(({ id }) => id === "claude-code")).toMatchObject({ state: "none", file, hasFile: true });
    expect(cursor.map(({ id, isOn }) => [id, isOn])).toEqual([
      ["face", false],
      ["base-url", false],
      ["bridge", false],
    ]);
    const reply = await visitor.get("/clients/claude-code");
    const text = await reply.text();
    const { lines } = JSON.parse(text) as DiffReply;
    expect(lines.some(({ kind, text: line }) => kind === "added" && line.includes(visitor.url))).toBe(true);
    expect(text).not.toContain(KEY);
    expect(text).not.toContain("sk-of-another-service");
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  it("says which listeners for Cursor are on", async () => {
    const visitor = await openDashboard({ cursorFace: true, cursorPort: 0 });
    const { cursor } = (await (await visitor.get("/clients")).json()) as ClientsReply;
    expect(cursor[0]).toMatchObject({ id: "face", isOn: true });
  });

  it("knows no other client", async () => {
    const visitor = await openDashboard();
    expect((await visitor.get("/clients/nothing")).status).toBe(404);
  });
});

describe("lineDiff", () => {
  const show = async (before: string, after: string) =>
    (await lineDiff(before, after)).map(({ kind, text }) => `${kind} ${text}`.trim());

  it("keeps two lines around a change", async () => {
    const lines = ["1", "2", "3", "4", "5", "6", "7"];
    expect(await show(lines.join("\n"), lines.with(3, "x").join("\n"))).toEqual([
      "gap",
      "same 2",
      "same 3",
      "removed 4",
      "added x",
      "same 5",
      "same 6",
      "gap",
    ]);
  });

  it("is empty for equal texts, and all added for a new file", async () => {
    expect(await show("a\nb\n", "a\nb\n")).toEqual([]);
    expect(await show("", "a\nb\n")).toEqual(["added a", "added b"]);
  });

  it("leaves out what is between two changes, and does not tell of the end of the last line", async () => {
    const lines = ["1", "2", "3", "4", "5", "6", "7"];
    const changed = ["x", ...lines.slice(1, 6), "y"];
    const [first, last] = [
      ["removed 1", "added x", "same 2", "same 3"],
      ["same 5", "same 6", "removed 7", "added y"],
    ];
    expect(await show(lines.join("\n"), `${changed.join("\n")}\n`)).toEqual([...first, "gap", ...last]);
    expect(await show("a", "a\n")).toEqual([]);
  });

  it("shows texts that have little in common as removed and added as a whole", async () => {
    const lines = (name: string) => ["same", ...Array.from({ length: 1000 }, (_, index) => `${name} ${index}`)];
    const shown = await show(lines("a").join("\n"), lines("b").join("\n"));
    expect([shown.length, shown[0], shown[1001]]).toEqual([2002, "removed same", "added same"]);
  });
});
