import { execFile } from "node:child_process";
import { copyFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { CLIENTS_FOLDER } from "../../scripts/install-clients.ts";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { proves } from "./matrix/proof.ts";

const KITS = ["langchain", "openai-agents"] as const;
const PROVEN = ["whole", "stream", "tools", "parallel", "structured"] as const;

describe.each(["chat", "responses"] as const)("LangChain and OpenAI's Agents over %s", (dialect) => {
  it("do their rounds", proves(KITS, dialect, ...PROVEN), async () => {
    const { start, trace } = await setUpGateway();
    const { url } = await start();
    const script = `${CLIENTS_FOLDER}/agent-kits.mjs`;
    copyFileSync(new URL("support/agent-kits.mjs", import.meta.url), script);
    const { stdout } = await promisify(execFile)(process.execPath, [script, dialect, `${url}/v1`, KEY]);
    const rounds = { agent: "saw a saw b stream", agentStreamed: "firstsaw a saw b stream", object: { city: "Bern" } };
    expect(JSON.parse(stdout)).toEqual({
      langChain: { ...rounds, text: "hi there", streamed: "a b c" },
      agents: { ...rounds, next: "checkpoint Be brief." },
    });
    expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
  });
});
