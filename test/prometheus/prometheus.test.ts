import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { Metrics } from "../../src/metrics/metrics.ts";
import { KEY as PROCESS_KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { TOOLS } from "../gateway/support/tool-client.ts";
import { dashboardQueries } from "../metrics/support/dashboard.ts";
import { requestRecord, SOURCES, toolCallRecord } from "../metrics/support/records.ts";
import { KEY, startTestGateway } from "../server/support/gateway.ts";

const isMissing = spawnSync("prometheus", ["--version"]).error !== undefined;
if (isMissing)
  process.stdout.write("Prometheus is not installed here (Debian: apt-get install prometheus): skipped.\n");

const RULES = fileURLToPath(new URL("../../deploy/grafana/", import.meta.url));

const promtool = (args: readonly string[], input = "") => {
  const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8", input, cwd: RULES });
  return { status, said: stdout + stderr };
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

interface Prometheus {
  query(expr: string): Promise<readonly { readonly value: readonly [number, string] }[]>;
}

/** A real Prometheus that scrapes one gateway every second, with its key, as docs/observability.md says. */
async function startPrometheus(target: string, key: string): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), "excursor-prometheus-"));
  const port = await freePort();
  writeFileSync(join(folder, "key"), key, { mode: 0o600 });
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [join(RULES, "alerts.yml")],
    scrape_configs: [
      {
        job_name: "excursor",
        authorization: { credentials_file: join(folder, "key") },
        static_configs: [{ targets: [new URL(target).host] }],
      },
    ],
  };
  // JSON is YAML, too.
  writeFileSync(join(folder, "prometheus.yml"), JSON.stringify(config));
  expect(promtool(["check", "config", join(folder, "prometheus.yml")])).toMatchObject({ status: 0 });
  const child = spawn(
    "prometheus",
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: "ignore" },
  );
  onTestFinished(async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
    rmSync(folder, { recursive: true, force: true });
  });
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const isReady = () =>
    get("/-/ready").then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isReady, { timeout: 30_000 }).toBe(true);
  return {
    async query(expr) {
      const response = await get(`/api/v1/query?query=${encodeURIComponent(expr)}`);
      const body = (await response.json()) as { status: string; error?: string; data: { result: [] } };
      expect(body.status, `${expr}: ${body.error}`).toBe("success");
      return body.data.result;
    },
  };
}

const isUp = async (prometheus: Prometheus) => (await prometheus.query('up{job="excursor"}'))[0]?.value[1];

describe.skipIf(isMissing)("deploy/grafana", () => {
  it("has alert rules that promtool takes and that fire as they should", () => {
    expect(promtool(["check", "rules", "alerts.yml"])).toMatchObject({ status: 0 });
    expect(promtool(["test", "rules", "alerts.test.yml"])).toMatchObject({ status: 0 });
  });

  it("has data in every panel of the dashboard, once there is traffic of every kind", async () => {
    let granted = 0;
    const metrics = new Metrics({
      ...SOURCES,
      retries: () => [["cursor", { credit: 9, granted: granted++, refused: 0 }]],
      traces: () => ({ exported: granted * 10, dropped: granted }),
    });
    const gateway = await startTestGateway({ metrics, metricsRoute: { page: metrics, isOpen: false } });
    const traffic = setInterval(() => {
      metrics.request(requestRecord());
      metrics.request(requestRecord({ run: { type: "resumed" } }));
      metrics.request(requestRecord({ run: { type: "replayed", reason: "expired" } }));
      metrics.request(requestRecord({ status: 502, errorCode: "upstream_error" }));
      metrics.toolCall(toolCallRecord());
    }, 100);
    onTestFinished(() => clearInterval(traffic));
    const prometheus = await startPrometheus(gateway.url, KEY);
    await expect.poll(() => isUp(prometheus), { timeout: 30_000 }).toBe("1");
    for (const [title, expr] of dashboardQueries()) {
      const query = expr.replaceAll("$__rate_interval", "10s");
      const values = async () => (await prometheus.query(query)).map(({ value }) => Number(value[1]));
      await expect
        .poll(async () => (await values()).filter(Number.isFinite).length, {
          timeout: 30_000,
          message: `${title}: ${query}`,
        })
        .toBeGreaterThan(0);
    }
  });

  it("fits a real gateway: promtool takes its page, and Prometheus scrapes it with the key", async () => {
    const { start } = await setUpGateway();
    const { client, url } = await start();
    await client.chat.completions.create({
      model: "gpt-5.5",
      messages: [{ role: "user", content: "@sim call look {} ;; say {{result}}" }],
      tools: TOOLS,
    });
    const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${PROCESS_KEY}` } });
    expect(promtool(["check", "metrics"], await response.text())).toEqual({ status: 0, said: "" });
    const prometheus = await startPrometheus(url, PROCESS_KEY);
    await expect.poll(() => isUp(prometheus), { timeout: 30_000 }).toBe("1");
    expect((await prometheus.query("excursor_parked_runs"))[0]?.value[1]).toBe("1");
    for (const name of ["requests_total", "turns_total", "tokens_total", "first_token_seconds_count"]) {
      expect(Number((await prometheus.query(`sum(excursor_${name})`))[0]?.value[1]), name).toBeGreaterThan(0);
    }
  });

  it("is not scraped without the key", async () => {
    const { start } = await setUpGateway();
    const { url } = await start();
    const prometheus = await startPrometheus(url, "wrong");
    await expect.poll(() => isUp(prometheus), { timeout: 30_000 }).toBe("0");
  });
});
