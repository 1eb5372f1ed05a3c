import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { CLIENTS_FOLDER } from "../../scripts/install-clients.ts";

const SUITE = `${CLIENTS_FOLDER}/node_modules/@modelcontextprotocol/conformance/dist/index.js`;
const CLIENT = fileURLToPath(new URL("support/conformance-client.ts", import.meta.url));

/** Extensions of the protocol that the hub does not have, as docs/mcp.md says. All others have to pass. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  "auth/enterprise-managed-authorization": "wants a token of a company's identity provider to exchange",
  "auth/wif-jwt-bearer": "wants a token of the machine's workload identity to exchange",
  "auth/dpop": "tokens are bearer tokens, not bound to a key",
  "auth/dpop-nonce": "tokens are bearer tokens, not bound to a key",
};

const folder = mkdtempSync(join(tmpdir(), "excursor-conformance-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const suite = (...args: string[]): string => {
  const { stdout, stderr } = spawnSync(process.execPath, [SUITE, ...args], { encoding: "utf8", cwd: folder });
  return stdout + stderr;
};

const scenarios = [...suite("list", "--client").matchAll(/^ {2}- (\S+)/gm)].map(([, name = ""]) => name);

describe("the conformance suite's scenarios for clients", () => {
  it("are all there, and so are those that do not apply", () => {
    expect(scenarios.length).toBeGreaterThan(40);
    expect(scenarios).toEqual(expect.arrayContaining(Object.keys(NOT_OFFERED)));
  });

  it.each(scenarios.filter((name) => !(name in NOT_OFFERED)))("%s", (scenario) => {
    const result = suite("client", "--command", `${process.execPath} ${CLIENT}`, "--scenario", scenario);
    expect(result).toContain("OVERALL: PASSED");
  });
});
