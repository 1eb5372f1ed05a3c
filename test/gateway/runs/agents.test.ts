import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { gone } from "../../drivers/acp/support/agent-stage.ts";
import { setUpGateway } from "../support/gateway-process.ts";

const SCRIPTED_AGENT = fileURLToPath(new URL("../../drivers/acp/support/scripted-agent.mjs", import.meta.url));

const SOME_KEY = "a-key-that-is-not-for-logs";

/** A gateway that has one agent and one entry that cannot be used. */
async function setUp(settings: object = {}) {
  const stage = await setUpGateway();
  const notes = join(stage.home, "notes");
  const test = { command: process.execPath, args: [SCRIPTED_AGENT], env: { NOTES: notes, SOME_KEY }, allow: ["read"] };
  const config = { agents: { test, broken: { args: [] } }, bridgePort: 0, ...settings };
  writeFileSync(join(stage.home, "config.json"), JSON.stringify(config), { mode: 0o600 });
  const gateway = await stage.start("--bridge");
  const ask = (content: string, model = "acp:test") =>
    gateway.client.chat.completions.create({ model, messages: [{ role: "user", content }] });
  const noted = async (text: string): Promise<number> => {
    for (;;) {
      const line = readFileSync(notes, "utf8")
        .split("\n")
        .find((other) => other.startsWith(text));
      if (line !== undefined) return Number(line.split(" ")[1]);
      await sleep(10);
    }
  };
  return { ...stage, gateway, ask, noted };
}

describe("agents behind the gateway", () => {
  it("are models like any other: listed, asked, and told apart from those that cannot be used", async () => {
    const { gateway, ask } = await setUp();
    const models = await Array.fromAsync(gateway.client.models.list());
    expect(models.map(({ id }) => id)).toContain("acp:test");
    expect(models.map(({ id }) => id)).not.toContain("acp:broken");
    const { choices } = await ask("think hm ;;tool Read a ;;permission read ;;permission execute");
    expect(choices[0]?.message).toMatchObject({ content: "yesno", reasoning_content: "hm[Read a]\n" });
    await expect(ask("say hi", "acp:broken")).rejects.toThrow(/agents → broken: command: /);
    expect(gateway.log()).toContain("agents → broken: command: ");
    expect((await ask("@sim say still here", "auto")).choices[0]?.message.content).toBe("still here");
  });

  it("have their secrets taken out of the log, and nothing else of their environment", async () => {
    const { gateway, ask, home } = await setUp();
    const path = join(home, "notes");
    await expect(ask(`stderr ${SOME_KEY} is in ${path} ;;crash`)).rejects.toThrow();
    await expect.poll(gateway.log).toContain(`[redacted] is in ${path}`);
    expect(gateway.log()).not.toContain(SOME_KEY);
    expect(gateway.log()).toContain("Excursor knows no permission switch for this agent");
  });

  it("end with it, whatever ends it, and so does all that they have started (SEC-44)", async () => {
    const { gateway, ask, noted } = await setUp();
    await ask("fork");
    const [agent, child] = [await noted("start"), await noted("child")];
    await gateway.stop("SIGKILL");
    await Promise.all([gone(agent), gone(child)]);
  });

  it("are reached through the bridge with the bridge's key, and with no other", async () => {
    const { gateway, home } = await setUp();
    const send = (key: string) =>
      fetch(`${gateway.bridgeUrl}/acp/sendMessage`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "x-excursor-bridge": "1", "content-type": "application/json" },
        body: JSON.stringify({ provider: "test", message: "say over the bridge", composerId: "c1" }),
      });
    const answer = await send(readFileSync(join(home, "bridge-key"), "utf8").trim());
    expect(await answer.json()).toMatchObject({ choices: [{ message: { content: "over the bridge" } }] });
    expect((await send("exc_a-key-for-tests-only-0123456789")).status).toBe(403);
  });

  it.skipIf(process.platform !== "linux").each([
    [true, 200],
    [false, 403],
  ])("are reached by the editor's own page without a key if `compat` is %j (SEC-45)", async (compat, status) => {
    const { gateway } = await setUp({ bridge: { compat } });
    const answer = await fetch(`${gateway.bridgeUrl}/acp/sendMessage`, {
      method: "POST",
      headers: { origin: "vscode-file://vscode-app", "content-type": "application/json" },
      body: JSON.stringify({ provider: { id: "test" }, message: "say hi", composerId: "c1", stream: true }),
    });
    expect(answer.status).toBe(status);
  });
});
