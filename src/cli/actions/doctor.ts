import { styleText } from "node:util";
import { givenSecrets } from "../../app/given-secrets.ts";
import type { Config } from "../../app/load-config.ts";
import { type LoadedConfig, loadConfig } from "../../app/load-config.ts";
import { type Accounts, openAccounts } from "../../app/open-accounts.ts";
import { hasOtherUpstreams, openGateway } from "../../app/open-gateway.ts";
import { CURSOR_ORIGIN } from "../../config/backend-origin.ts";
import { newKey } from "../../config/key-file.ts";
import type { Secret } from "../../core/secret.ts";
import { askSource } from "../../credentials/find-login.ts";
import { createRedactor } from "../../observe/redactor.ts";
import { proxyFromEnvironment } from "../../wire/http/proxy.ts";
import { accountChecks } from "../doctor/account-checks.ts";
import { agentChecks } from "../doctor/agent-checks.ts";
import { backendChecks } from "../doctor/backend-checks.ts";
import { bridgeCheck } from "../doctor/bridge-check.ts";
import { type Check, type Finding, failed, look, skip } from "../doctor/check.ts";
import { gatewayChecks } from "../doctor/gateway-checks.ts";
import { hubChecks } from "../doctor/hub-checks.ts";
import { machineChecks } from "../doctor/machine-checks.ts";
import { upstreamChecks } from "../doctor/upstream-checks.ts";
import { createClient } from "../gateway-client.ts";
import { startSpinner } from "../terminal/spinner.ts";

export interface DoctorFlags {
  readonly account?: string | undefined;
  readonly upstream?: string | undefined;
  readonly model?: string | undefined;
  readonly demo: boolean;
  readonly quick: boolean;
  readonly json: boolean;
}

type Named = Finding & { readonly id: string };

export async function runDoctor({ account, upstream, json, ...flags }: DoctorFlags): Promise<void> {
  const redactor = createRedactor();
  const findings: Named[] = [];
  const report = (id: string, finding: Finding): boolean => {
    const { text, fix, ...rest } = finding;
    const clean = { ...rest, text: redactor.redact(text), ...(fix !== undefined && { fix: redactor.redact(fix) }) };
    findings.push({ id, ...clean });
    if (!json) process.stdout.write(format({ id, ...clean }));
    return finding.status !== "fail";
  };
  const run = async (checks: readonly Check[]): Promise<boolean> => {
    let isFine = true;
    for (const check of checks) {
      const spinner = startSpinner();
      const finding = await look(check);
      spinner.stop();
      isFine = report(check.id, finding) && isFine;
    }
    return isFine;
  };

  try {
    const own = { host: "127.0.0.1", port: 0, key: newKey(), logLevel: "silent", bridge: false, ollama: false };
    const load = (more: object) => loadConfig({ flags: { account, upstream, ...more }, environment: process.env });
    await examine(load({}), load(own));
  } catch (error) {
    report("config", failed(error));
  }
  if (json) process.stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
  process.exitCode = exitCode(findings);

  async function examine(loaded: LoadedConfig, probe: LoadedConfig): Promise<void> {
    const { key, token } = loaded.values;
    for (const secret of [key?.reveal() ?? "", token?.reveal() ?? "", ...givenSecrets()]) redactor.add(secret);
    await run(machineChecks(loaded));
    await run(hubChecks({ isQuick: flags.quick }));
    const onSecret = (secret: Secret) => redactor.add(secret.reveal());
    await run(agentChecks({ config: loaded.values, isQuick: flags.quick, onSecret }));
    const accounts = openAccounts(loaded, { onSecret, onNotice: () => {} });
    const { origin, transport } = accounts;
    try {
      await run([bridgeCheck(loaded.values, transport)]);
      await run(await upstreamChecks({ ...accounts, config: loaded.values, onSecret }));
      const isCursorWanted = flags.demo || (await wantsCursor(loaded.values, accounts));
      if (!isCursorWanted) report("cursor", skip("No account is signed in. Other upstreams and agents need none."));
      const isToBeTried = isCursorWanted && !flags.demo;
      const isReachable =
        !isToBeTried || (await run(backendChecks(transport, origin, proxyFromEnvironment(process.env))));
      const isAccepted = !isToBeTried || (await run(accountChecks(accounts, loaded.values.account)));
      if (!isReachable || !isAccepted) {
        report("models", skip("Skipped: the account check failed."));
        return;
      }
      const gateway = await openGateway(probe, { isDemo: flags.demo, writeLog: () => {} });
      try {
        const isScripted = flags.demo || (isCursorWanted && origin !== CURSOR_ORIGIN);
        const model = flags.model ?? (isCursorWanted ? "auto" : undefined);
        await run(
          gatewayChecks({
            gateway: createClient(gateway),
            model,
            isScripted,
            isQuick: flags.quick,
            mayListNone: !isCursorWanted,
          }),
        );
      } finally {
        await gateway.close(0);
      }
    } finally {
      accounts.close();
    }
  }
}

/** False if the gateway is fine without an account, because models are routed elsewhere or agents are configured. */
async function wantsCursor(config: Config, { sources }: Accounts): Promise<boolean> {
  const hasOthers = hasOtherUpstreams(config) || Object.keys(config.agents ?? {}).length > 0;
  if (!hasOthers || config.account !== undefined) return true;
  const reports = await Promise.all(sources.map((source) => askSource(source, Date.now())));
  return reports.some(({ type }) => type !== "none");
}

const MARKS = { ok: ["ok", "green"], warn: ["warn", "yellow"], fail: ["fail", "red"], skip: ["-", "dim"] } as const;

function format({ id, status, text, fix }: Named): string {
  const [mark, colour] = MARKS[status];
  const label = styleText(colour, mark.padEnd(5), { stream: process.stdout });
  return `${label} ${id.padEnd(28)} ${text}${fix === undefined ? "" : ` ${fix}`}\n`;
}

const exitCode = (findings: readonly Named[]): number =>
  findings.some(({ status }) => status === "fail") ? 2 : findings.some(({ status }) => status === "warn") ? 1 : 0;
