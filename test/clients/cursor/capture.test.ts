import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { startSim } from "../../../src/sim/server.ts";
import { excursor } from "../../cli/support/excursor.ts";
import { SdkProcess } from "../support/sdk-process.ts";

const MAIL = "ada.lovelace@example.com";
const TOKEN = "sdk-login-token-0123456789-abcdefghij";

/** The texts before a secret, where it is known by them, and the secrets. Each is in a prompt and in a streamed answer. */
const PLANTED: readonly (readonly [before: string, secret: string, after?: string])[] = [
  ["", MAIL],
  ["", "grace+hopper@mail.example.org"],
  ["https://x.example/?mail=", "ada%40example.com"],
  ["mailto:", "alan_turing@example.co.uk"],
  ["", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhdXRoMHwxMjMifQ.c2lnbmF0dXJlb2ZpdA"],
  ["", "sk-proj-0123456789abcdefghij"],
  ["", "sk-ant-api03-0123456789abcdefghij"],
  ["", "exc_0123456789abcdefghijklmnop"],
  ["", "crsr_0123456789abcdefghijklmn"],
  ["", "ghp_0123456789abcdefghijABCDEFGHIJ"],
  ["", "gho_0123456789abcdefghijABCDEFGHIJ"],
  ["", "github_pat_0123456789abcdefghijkl"],
  ["", "xoxb-0123456789-abcdefghijkl"],
  ["", "xoxp-9876543210-abcdefghijkl"],
  ["", "key_0123456789abcdefghijklmnop"],
  ["Bearer ", "plain-opaque-bearer-0123"],
  ["WorkosCursorSessionToken=", "session-cookie-value-77"],
  ["https://user:", "hunter2hunter2", "@host.example/"],
  ["/home/", "ada.private", "/notes.txt"],
];
const SECRETS = [TOKEN, ...PLANTED.map(([, secret]) => secret)];

let folder = "";
let file = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "excursor-captured-"));
  file = join(folder, "a.capture");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: string[]) =>
  excursor(args, { environment: { EXCURSOR_HOME: join(folder, "home"), EXCURSOR_TOKEN: TOKEN } });

describe.each(["h2", "h1"] as const)("the official client, captured over %s", (hostConfig) => {
  it("sees no difference, and leaves none of 20 secrets in the capture (SEC-52)", { timeout: 120_000 }, async () => {
    const sim = await startSim({ hostConfig });
    onTestFinished(() => sim.close());
    const capture = run("capture", "--out", file, "--upstream", sim.url, "--listen");
    const [, url = ""] = /^cursor (\S+)/.exec(await capture.firstLine()) ?? [];
    {
      await using sdk = new SdkProcess({ url, home: folder, apiKey: TOKEN });
      await sdk.models();
      await sdk.create("a", { local: { cwd: folder, enableAgentRetries: false } });
      for (const [index, [before, secret, after = ""]] of PLANTED.entries()) {
        const sentence = `number ${index} is ${before}${secret}${after} indeed`;
        const said = await sdk.send("a", `@sim say ${sentence}`);
        expect([said.status, said.text]).toEqual(["finished", sentence]);
      }
      const called = await sdk.send("a", `@sim call look {"at":"${MAIL}"} ;; say {{result}}`);
      expect([called.status, called.text]).toEqual(["finished", expect.stringContaining(MAIL)]);
    }
    capture.child.kill("SIGINT");
    expect((await capture.exited).code).toBe(0);

    const bytes = readFileSync(file);
    const forms = SECRETS.flatMap((secret) => [secret, Buffer.from(secret).toString("hex")]);
    expect(forms.filter((form) => bytes.includes(form))).toEqual([]);

    const calls = JSON.parse((await run("inspect", file, "--json").exited).stdout) as {
      path: string;
      transport: string;
      conversation?: string;
    }[];
    const ofRuns = calls.filter(({ path }) => /AgentService\/Run|BidiAppend/.test(path));
    expect(new Set(ofRuns.map(({ transport }) => transport))).toEqual(new Set([hostConfig]));
    expect(ofRuns.filter(({ conversation }) => conversation === undefined)).toEqual([]);
    const lines = (await run("inspect", file, "--jsonl", "--kind", "text_delta").exited).stdout.trim().split("\n");
    const text = lines.map((line) => JSON.parse(line).value.interactionUpdate.textDelta.text).join("");
    expect(text.match(/number \d+ is .+? indeed/g)).toHaveLength(PLANTED.length);
    expect(SECRETS.filter((secret) => text.includes(secret))).toEqual([]);
    const unread = (await run("inspect", file, "--jsonl").exited).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ path, type, kind }) => /AgentService\/Run|BidiAppend/.test(path) && !type && kind !== "end");
    expect(unread).toEqual([]);
  });
});
