import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { expect, it, onTestFinished } from "vitest";
import { canned } from "../../docs/examples/canned-driver.ts";
import { DRIVERS } from "../../src/app/drivers.ts";
import { loadConfig } from "../../src/app/load-config.ts";
import { openGateway } from "../../src/app/open-gateway.ts";
import { explainConfig } from "../../src/config/explain-config.ts";
import { driverServices } from "../drivers/support/driver-services.ts";
import { describeDriver } from "./driver.ts";

describeDriver("canned", {
  callsTools: false,
  reportsUsage: false,
  async setUp(behaviour) {
    // A word now, and the next one much later.
    const answers = { text: "Hello, world.", endless: "a ".repeat(100) };
    const settings = { canned: { answers, wordMs: behaviour === "endless" ? 100 : 0 } };
    const driver = canned.create({ ...driverServices(), settings, entry: undefined });
    let open = 0;
    return {
      driver: {
        ...driver,
        open(turn, context) {
          const run = driver.open(turn, context);
          open++;
          return {
            [Symbol.asyncIterator]: async function* () {
              try {
                yield* run;
              } finally {
                open--;
              }
            },
            submitResults: (results, history) => run.submitResults(results, history),
            cancel: () => run.cancel(),
          };
        },
      },
      model: `canned:${behaviour}`,
      question: "hi",
      openAnswers: () => open,
    };
  },
});

it("a module beside the others is a driver of the gateway, with settings of its own", async () => {
  const home = mkdtempSync(join(tmpdir(), "excursor-canned-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const settings = { port: 0, canned: { answers: { hello: "Hello, world." } } };
  writeFileSync(join(home, "config.json"), JSON.stringify(settings), { mode: 0o600 });
  const drivers = [...DRIVERS, canned];
  const loaded = loadConfig({ flags: {}, environment: { EXCURSOR_HOME: home, EXCURSOR_CANNED_WORD_MS: "1" } }, drivers);
  expect(explainConfig(loaded).filter(({ key }) => key.startsWith("canned."))).toMatchObject([
    { key: "canned.answers", value: "[redacted]", variable: "EXCURSOR_CANNED_ANSWERS" },
    { key: "canned.wordMs", value: 1, origin: "EXCURSOR_CANNED_WORD_MS" },
  ]);

  const gateway = await openGateway(loaded, { isDemo: true, writeLog: () => {}, drivers });
  onTestFinished(() => gateway.close(0));
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key.reveal(), maxRetries: 0 });
  const ask = async (model: string, content: string) => {
    const answer = await client.chat.completions.create({ model, messages: [{ role: "user", content }] });
    return answer.choices[0]?.message.content;
  };
  expect([await ask("canned:hello", "hi"), await ask("auto", "@sim say and Cursor")]).toEqual([
    "Hello, world.",
    "and Cursor",
  ]);
  const listed = (await client.models.list()).data.map(({ id }) => id);
  expect(listed).toContain("canned:hello");
  await expect(ask("canned:other", "hi")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
});

it("two modules may not have different settings of one name", () => {
  const other = { ...canned, name: "other", settings: { canned: {} } };
  const load = () => loadConfig({ flags: {}, environment: {} }, [...DRIVERS, canned, other]);
  expect(load).toThrow(/Two drivers define the setting canned/);
});
