import { execFile } from "node:child_process";
import { copyFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { CLIENTS_FOLDER } from "../../scripts/install-clients.ts";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { isGivenUp } from "../sim/support/given-up.ts";
import { proves } from "./matrix/proof.ts";

it(
  "LangChain's ChatOllama does its rounds, although it drops the ids of calls",
  proves(
    "langchain",
    "ollama",
    "whole",
    "stream",
    "tools",
    "parallel",
    "rounds",
    "images",
    "thinking",
    "structured",
    "usage",
    "abort",
    "errors",
  ),
  async () => {
    const { start, trace } = await setUpGateway();
    const { url } = await start();
    const script = `${CLIENTS_FOLDER}/chat-ollama.mjs`;
    copyFileSync(new URL("support/chat-ollama.mjs", import.meta.url), script);
    const { stdout } = await promisify(execFile)(process.execPath, [script, url, KEY]);
    expect(JSON.parse(stdout)).toEqual({
      text: "hi there",
      thinking: "hm",
      usage: true,
      streamed: "a b c",
      image: "1 image/png:70",
      object: { city: "Bern" },
      agent: "saw a saw b saw c stream",
      unknown: expect.stringContaining("gpt-5.5"),
      broken: expect.stringContaining("went wrong"),
      aborted: expect.stringMatching(/abort|timeout/i),
    });
    await expect.poll(() => trace.filter(isGivenUp).length).toBeGreaterThan(0);
    expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
  },
);
