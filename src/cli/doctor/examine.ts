import { type Accounts, openAccounts } from "../../app/accounts/open-accounts.ts";
import { type Config, type LoadedConfig, loadConfig } from "../../app/load-config.ts";
import { hasOtherUpstreams, openGateway } from "../../app/open-gateway.ts";
import { secretsOf } from "../../app/secrets-of.ts";
import { CURSOR_ORIGIN } from "../../config/backend-origin.ts";
import { newKey } from "../../config/key-file.ts";
import type { Secret } from "../../core/secret.ts";
import { askSource } from "../../credentials/find-login.ts";
import { createRedactor } from "../../observe/redactor.ts";
import { proxyFromEnvironment } from "../../wire/http/proxy.ts";
import { createClient } from "../gateway-client.ts";
import { accountChecks } from "./account-checks.ts";
import { agentChecks } from "./agent-checks.ts";
import { backendChecks } from "./backend-checks.ts";
import { bridgeCheck } from "./bridge-check.ts";
import { type Check, type Finding, failed, look, skip } from "./check.ts";
import { gatewayChecks } from "./gateway-checks.ts";
import { hubChecks } from "./hub-checks.ts";
import { machineChecks } from "./machine-checks.ts";
import { upstreamChecks } from "./upstream-checks.ts";

export interface ExamineOptions {
  /** Settings by their names, as flags. */
  readonly settings: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly model?: string | undefined;
  readonly demo: boolean;
  readonly quick: boolean;
  /** Told each finding as soon as it is made. */
  readonly onFinding?: (finding: NamedFinding) => void;
  /** Called before each check; `stop` is called after it. */
  readonly onCheck?: () => { stop(): void };
}

export type NamedFinding = Finding & { readonly id: string };

/** The probe gateway listens for nothing but its own requests. */
const PROBE = {
  host: "127.0.0.1",
  port: 0,
  logLevel: "silent",
  bridge: false,
  cursorFace: false,
  ollama: false,
  capture: false,
};

/** Makes all checks of `excursor doctor`, and returns the findings without secrets. */
export async function examine(options: ExamineOptions): Promise<readonly NamedFinding[]> {
  const redactor = createRedactor();
  const findings: NamedFinding[] = [];
  const report = (id: string, finding: Finding): boolean => {
    const { text, fix, ...rest } = finding;
    const clean = { ...rest, text: redactor.redact(text), ...(fix !== undefined && { fix: redactor.redact(fix) }) };
    findings.push({ id, ...clean });
    options.onFinding?.({ id, ...clean });
    return finding.status !== "fail";
  };
  const run = async (checks: readonly Check[]): Promise<boolean> => {
    let isFine = true;
    for (const check of checks) {
      const shown = options.onCheck?.();
      const finding = await look(check);
      shown?.stop();
      isFine = report(check.id, finding) && isFine;
    }
    return isFine;
  };
  try {
    const load = (more: object) => loadConfig({ flags: { ...options.settings, ...more }, environment: process.env });
    await examineAll(load({}), load({ ...PROBE, key: newKey() }));
  } catch (error) {
    report("config", failed(error));
  }
  return findings;

  async function examineAll(loaded: LoadedConfig, probe: LoadedConfig): Promise<void> {
    const { demo: isDemo, quick: isQuick } = options;
    for (const secret of secretsOf(loaded)) redactor.add(secret);
    await run(machineChecks(loaded));
    await run(hubChecks({ isQuick }));
    const onSecret = (secret: Secret) => redactor.add(secret.reveal());
    await run(agentChecks({ config: loaded.values, isQuick, onSecret }));
    const accounts = openAccounts(loaded, { onSecret, onNotice: () => {} });
    const { origin, transport } = accounts;
    try {
      await run([bridgeCheck(loaded.values)]);
      await run(await upstreamChecks({ ...accounts, config: loaded.values, onSecret }));
      const isCursorWanted = isDemo || (await wantsCursor(loaded.values, accounts));
      if (!isCursorWanted) report("cursor", skip("No account is signed in. Other upstreams and agents need none."));
      const isToBeTried = isCursorWanted && !isDemo;
      const isReachable =
        !isToBeTried || (await run(backendChecks(transport, origin, proxyFromEnvironment(process.env))));
      const isAccepted = !isToBeTried || (await run(accountChecks(accounts, loaded.values.account)));
      if (!isReachable || !isAccepted) {
        report("models", skip("Skipped: the account check failed."));
        return;
      }
      const gateway = await openGateway(probe, { isDemo, writeLog: () => {} });
      try {
        const isScripted = isDemo || (isCursorWanted && origin !== CURSOR_ORIGIN);
        const model = options.model ?? (isCursorWanted ? "auto" : undefined);
        const mayListNone = !isCursorWanted;
        await run(gatewayChecks({ gateway: createClient(gateway), model, isScripted, isQuick, mayListNone }));
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
