import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startSim } from "../../../src/sim/server.ts";
import { BackendClient } from "../../sim/support/backend-client.ts";
import { excursor } from "../support/excursor.ts";

describe("excursor sim", () => {
  it("prints `ready URL` on stdout when it listens, and only that", async () => {
    const { child, firstLine, exited } = excursor(["sim", "--port", "0"], { how: "npm" });
    const line = await firstLine();
    expect(line).toMatch(/^ready http:\/\/127\.0\.0\.1:\d+$/);
    const url = line.slice("ready ".length);
    expect((await fetch(`${url}/v1/models`, { headers: { authorization: "Bearer demo" } })).status).toBe(200);
    child.kill("SIGTERM");
    // Where the shell is still between npm and us, npm itself ends by the signal: see npm-scripts.test.ts.
    const { stdout } = await exited;
    expect(stdout).toBe(`${line}\n`);
  });

  it("prints one JSON line with --json", async () => {
    const { firstLine, output } = excursor(["sim", "--port", "0", "--json"]);
    const ready = JSON.parse(await firstLine()) as { url: string; port: number };
    expect(ready.url).toBe(`http://127.0.0.1:${ready.port}`);
    expect(output.stderr).toBe("");
  });

  it("lets a run finish before it exits", async () => {
    const { child, firstLine, exited } = excursor(["sim", "--port", "0"]);
    const client = new BackendClient({ url: (await firstLine()).slice(6), transport: "h2" });
    let isTold = false;
    const { text, error } = await client.say("@sim say a ;; silent 700 ;; say b", {
      onMessage: (message) => {
        if (isTold || message.case !== "conversationCheckpointUpdate") return;
        isTold = true;
        child.kill("SIGTERM");
      },
    });
    client.close();
    expect([text, error]).toEqual(["ab", undefined]);
    expect((await exited).code).toBe(0);
  });

  it("a second signal, later than an echo of the first, exits at once", async () => {
    const { child, firstLine, exited } = excursor(["sim", "--port", "0"]);
    const client = new BackendClient({
      url: (await firstLine()).slice(6),
      transport: "h2",
      tools: { look: () => new Promise(() => {}) },
    });
    const run = client.say("@sim say a ;; call look {}", {
      onMessage: (message) => {
        if (message.case !== "execServerMessage" || message.value.message.case !== "mcpArgs") return;
        child.kill("SIGINT");
        child.kill("SIGINT");
        setTimeout(() => child.kill("SIGINT"), 500);
      },
    });
    expect((await exited).code).toBe(130);
    expect((await run).error).toBeDefined();
    client.close();
  });

  it.each([
    [["sim", "--prot", "1"], 2, "Did you mean --port?"],
    [["sim", "--port", "many"], 2, "Expected a whole number."],
    [["sim", "--legacy", "maybe"], 2, "on, deprecated"],
    [["simm"], 2, "unknown command 'simm'"],
    [["sim", "--port", "99999999"], 2, "65535"],
    [["sim", "--script", "/nowhere/at-all"], 78, "--script: cannot open /nowhere/at-all (ENOENT)"],
    [["sim", "--trace", "/nowhere/at-all"], 78, "--trace: cannot open"],
    [["sim", "--tls-cert", "/nowhere/at-all"], 78, "--tls-cert and --tls-key must be given together"],
  ])("%j exits with %d and says what is wrong", async (args, code, message) => {
    const result = await excursor(args).exited;
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(message);
    expect(result.stdout).toBe("");
    expect(result.stderr).not.toContain("    at ");
  });

  it("a taken port exits with 75 and names it", async () => {
    const sim = await startSim();
    const { code, stderr } = await excursor(["sim", "--port", String(sim.port)]).exited;
    await sim.close();
    expect(code).toBe(75);
    expect(stderr).toContain(`Port ${sim.port} is already in use`);
  });

  it("a bad script, a bad certificate: named, exit 78", async () => {
    const folder = mkdtempSync(join(tmpdir(), "excursor-"));
    const file = join(folder, "file");
    writeFileSync(file, "say fine\ndance badly\n");
    const script = await excursor(["sim", "--port", "0", "--script", file]).exited;
    expect([script.code, script.stderr]).toEqual([78, expect.stringContaining('"dance badly": unknown step')]);
    const tls = await excursor(["sim", "--port", "0", "--tls-cert", file, "--tls-key", file]).exited;
    expect([tls.code, tls.stderr]).toEqual([78, expect.stringContaining("--tls-cert")]);
    rmSync(folder, { recursive: true });
  });

  it("follows --script and writes --trace", async () => {
    const folder = mkdtempSync(join(tmpdir(), "excursor-"));
    const [script, trace] = [join(folder, "script"), join(folder, "trace")];
    writeFileSync(script, "# a comment\nsay from the file\n");
    const { child, firstLine, exited } = excursor(["sim", "--port", "0", "--script", script, "--trace", trace]);
    const client = new BackendClient({ url: (await firstLine()).slice(6), transport: "h1" });
    expect((await client.say("anything")).text).toBe("from the file");
    client.close();
    child.kill("SIGTERM");
    await exited;
    const entries = readFileSync(trace, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["open", "run_request", "text_delta", "turn_ended", "end"]),
    );
    for (const entry of entries)
      expect(Object.keys(entry)).toEqual(expect.arrayContaining(["t", "run", "transport", "dir", "kind"]));
    rmSync(folder, { recursive: true });
  });
});

it("excursor --version and --help exit with 0", async () => {
  const version = await excursor(["--version"]).exited;
  expect([version.code, version.stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  const help = await excursor(["--help"]).exited;
  expect([help.code, help.stdout]).toEqual([0, expect.stringContaining("sim")]);
});
