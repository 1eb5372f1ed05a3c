import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CaptureWriter } from "../../../src/capture/capture-writer.ts";
import { CaptureRecorder } from "../../../src/capture/recorder.ts";
import { PLAIN } from "../../drift/support.ts";
import { excursor } from "../support/excursor.ts";

let folder = "";
let file = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "excursor-drift-"));
  file = join(folder, "a.capture");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  excursor(["drift", ...args], { environment: { EXCURSOR_HOME: join(folder, "home"), ...environment } }).exited;

/** Records a run that receives this message. */
function record(bytes: Uint8Array): void {
  const recorder = new CaptureRecorder(new CaptureWriter({ file, maxBytes: 1e6, onEnd: expect.unreachable }));
  const headers = { "content-type": "application/connect+proto" };
  const head = {
    method: "POST",
    origin: "https://a.test",
    path: "/agent.v1.AgentService/Run",
    transport: "h2",
  } as const;
  const call = recorder.call({ ...head, headers });
  call.response({ status: 200, headers });
  call.message({ direction: "received", form: "frame", flags: 0, wasCompressed: false, bytes });
  recorder.close();
}

describe("excursor drift", { timeout: 60_000 }, () => {
  it("lists what is unknown, and exits with 0", async () => {
    record(Uint8Array.from([0x9a, 0x06, 2, 0x68, 0x69]));
    const { code, stdout } = await run([file]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^DIFFERENCE +OF +IN +NAME/);
    expect(stdout).toMatch(/missing +field +agent\.v1\.AgentServerMessage +#99 .* 1 +026869/);
    expect(stdout).toContain("1 messages of 1 calls. missing field: 1. No conflicts.");
    const json = JSON.parse((await run([file, "--json"])).stdout);
    expect(json).toMatchObject({
      conflicts: 0,
      read: { calls: 1, messages: 1 },
      differences: [{ name: "#99", count: 1 }],
    });
  });

  it("exits with 1 on a conflict", async () => {
    // A number where our schema has a message.
    record(Uint8Array.from([0x08, 1]));
    const { code, stdout } = await run([file]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/retyped[\s\S]*1 conflicts\./)]);
  });

  it("exits with 1 if the SDK contradicts our schema", async () => {
    mkdirSync(join(folder, "dist"));
    const text = '{ no: 1, name: "text", kind: "scalar", T: 5 }';
    const code = PLAIN.replace('"agent.v1.Rule"', '"agent.v1.TextDeltaUpdate"').replace(
      /\{ no: 1, name: "path".*?\}/,
      text,
    );
    writeFileSync(join(folder, "dist", "index.js"), code);
    const found = await run(["--sdk", folder]);
    expect([found.code, found.stdout]).toEqual([
      1,
      expect.stringMatching(/retyped +field +agent\.v1\.TextDeltaUpdate +1 +text +string text +int32 text/),
    ]);
  });

  it("says what is wrong in one sentence", async () => {
    const both = await run([file, "--sdk", "1.0.32"]);
    expect([both.code, both.stderr]).toEqual([78, expect.stringContaining("either a capture or --sdk")]);
    // Node is there, and npm is not.
    const npm = await run(["--sdk", "0.0.1"], { PATH: join(dirname(process.execPath), "none") });
    expect([npm.code, npm.stderr]).toEqual([74, expect.stringContaining("npm could not download @cursor/sdk 0.0.1")]);
    expect(npm.stderr).toContain("npm view");
    const absent = await run(["--sdk", join(folder, "none")]);
    expect([absent.code, absent.stderr]).toEqual([65, expect.stringContaining("No schema of Cursor was found")]);
  });
});
