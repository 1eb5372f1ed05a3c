import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { makeCertificate } from "../wire/support/certificate.ts";
import { type ConnectProxy, startConnectProxy } from "../wire/support/connect-proxy.ts";
import { setUpGateway } from "./support/gateway-process.ts";

let proxy: ConnectProxy | undefined;

afterEach(() => proxy?.close());

describe.each(["h2", "h1"] as const)(
  "a gateway that reaches the backend through a proxy only, over %s",
  (hostConfig) => {
    it("answers, and says nothing of the proxy's password", async () => {
      const { key, cert } = makeCertificate("backend.test");
      proxy = await startConnectProxy();
      const environment: Record<string, string> = {
        HTTPS_PROXY: `http://me:pass-of-the-proxy@127.0.0.1:${proxy.port}`,
      };
      const tls = { key: key.toString(), cert: cert.toString() };
      const { start, simUrl, home } = await setUpGateway({ hostConfig, tls }, environment);
      const bundle = join(home, "ca.pem");
      writeFileSync(bundle, cert);
      environment["NODE_EXTRA_CA_CERTS"] = bundle;
      const upstream = `https://backend.test:${new URL(simUrl).port}`;
      const { client, log } = await start("--upstream", upstream);
      const { choices } = await client.chat.completions.create({
        model: "gpt-5.5",
        messages: [{ role: "user", content: "@sim say by another way" }],
      });
      expect(choices[0]?.message.content).toBe("by another way");
      expect(new Set(proxy.asked.map(({ target }) => target))).toEqual(new Set([new URL(upstream).host]));
      expect(log()).not.toContain("pass-of-the-proxy");
    });
  },
);

it("doctor tells of the proxy, and of one that does not work, without its password", async () => {
  const result = spawnSync(
    process.execPath,
    ["bin/excursor.js", "doctor", "--quick", "--json", "--upstream", "https://backend.test"],
    {
      encoding: "utf8",
      env: { ...process.env, EXCURSOR_HOME: "/nonexistent", HTTPS_PROXY: "http://me:pass-of-the-proxy@127.0.0.1:9" },
    },
  );
  expect(result.stdout).toContain("The proxy 127.0.0.1:9 refuses connections.");
  expect(result.stdout + result.stderr).not.toContain("pass-of-the-proxy");
});
