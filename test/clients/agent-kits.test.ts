import { execFile } from "node:child_process";
import { copyFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { CLIENTS_FOLDER } from "../../scripts/install-clients.ts";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";

it.each(["chat", "responses"])("LangChain and OpenAI's Agents do their rounds over %s", async (dialect) => {
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
