import { readFileSync } from "node:fs";
import { afterAll, describe, expect, inject, it } from "vitest";
import { KEY } from "../gateway/support/gateway-process.ts";
import { sharedGateway } from "../gateway/support/shared-gateway.ts";
import { Asker, type Target } from "./support/asker.ts";
import { BEYOND } from "./support/beyond.ts";
import { DIALECTS } from "./support/dialects.ts";
import { scenariosOf } from "./support/scenarios.ts";
import { createCheck } from "./support/schemas.ts";

const { CONFORMANCE_URL: url, CONFORMANCE_KEY: key = "", CONFORMANCE_MODEL: model = "gpt-5.5" } = process.env;
const isOwn = url === undefined;

const target = async (): Promise<Target> =>
  isOwn ? { url: (await sharedGateway()).url, key: KEY, model } : { url: url.replace(/\/$/, ""), key, model };

const check = createCheck(inject("schemas"));
const met = new Set<string>();
const figures = new Map<string, { cases: number; withoutMiss: number }>();

describe.each(DIALECTS)("$adapter.name", (dialect) => {
  const figure = { cases: 0, withoutMiss: 0 };
  figures.set(dialect.adapter.name, figure);

  it.each(scenariosOf(dialect.adapter.name, isOwn))("$name", async ({ run, isRefused = false }) => {
    figure.cases++;
    const asker = new Asker(dialect, await target(), check, (member) => met.add(member));
    await run(asker);
    expect(asker.misses).toEqual([]);
    if (isOwn) expect(asker.hasBeenRefused, "refused").toBe(isRefused);
    figure.withoutMiss++;
  });
});

const rows = () => [...figures].map(([name, { cases, withoutMiss }]) => `| ${name} | ${withoutMiss} of ${cases} |`);

describe.runIf(isOwn)("docs/conformance.md", () => {
  const page = readFileSync("docs/conformance.md", "utf8");
  it("has the figures", () => {
    expect(rows().filter((row) => !page.includes(row))).toEqual([]);
  });
  it("explains each member beyond the types, and each is sent", () => {
    const members = BEYOND.map(({ member }) => member);
    expect(members.filter((member) => !met.has(member) || !page.includes(`\`${member}\``))).toEqual([]);
  });
});

afterAll(() => void process.stdout.write(`\nCases without a miss:\n${rows().join("\n")}\n`));
