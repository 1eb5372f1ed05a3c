import { execFile } from "node:child_process";
import { copyFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { CLIENTS_FOLDER } from "../../scripts/install-clients.ts";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { isGivenUp } from "../sim/support/given-up.ts";
import { proves } from "./matrix/proof.ts";

const KITS = ["langchain", "openai-agents"] as const;
const PROVEN = [
  "whole",
  "stream",
  "tools",
  "parallel",
  "rounds",
  "images",
  "structured",
  "usage",
  "abort",
  "errors",
] as const;

describe.each(["chat", "responses"] as const)("LangChain and OpenAI's Agents over %s", (dialect) => {
  it("do their rounds", proves(KITS, dialect, ...PROVEN), async () => {
    const { start, trace } = await setUpGateway();
    const { url } = await start();
    const script = `${CLIENTS_FOLDER}/agent-kits.mjs`;
    copyFileSync(new URL("support/agent-kits.mjs", import.meta.url), script);
    const { stdout } = await promisify(execFile)(process.execPath, [script, dialect, `${url}/v1`, KEY]);
    const answers = {
      agent: "saw a saw b stream",
      agentStreamed: "firstsaw a saw b stream",
      object: { city: "Bern" },
      usage: true,
      image: "1 image/png:70",
      rounds: "saw c stream",
      limited: expect.stringContaining("too quick"),
    };
    expect(JSON.parse(stdout)).toEqual({
      langChain: { ...answers, text: "hi there", streamed: "a b c", aborted: expect.stringMatching(/abort|timeout/i) },
      agents: { ...answers, next: "checkpoint Be brief." },
    });
    // One of each kit.
    await expect.poll(() => new Set(trace.filter(isGivenUp).map((entry) => entry.run)).size).toBe(2);
    expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
  });
});
