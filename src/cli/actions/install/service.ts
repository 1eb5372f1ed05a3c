import { jsonText } from "../../../core/printable.ts";
import { GatewayService } from "../../service/service.ts";

/** As `systemctl status` has it for a service that does not run. */
const NOT_RUNNING = 3;

export function installService({ demo }: { readonly demo: boolean }): void {
  const service = new GatewayService();
  warnOfWithheld(service.install(demo ? ["--demo"] : []));
  process.stdout.write(
    `The service is installed (${service.file}) and started.\n\`excursor service status\` shows its state, \`excursor service logs\` its log.\n`,
  );
}

/** Says which variables of the shell the service does not get. */
export function warnOfWithheld(names: readonly string[]): void {
  if (names.length === 0) return;
  process.stderr.write(
    `The service does not get ${names.join(", ")}: its file is not for secrets. Sign in with \`excursor login\`, and put secret settings into config.json.\n`,
  );
}

export function startService(): void {
  new GatewayService().start();
  process.stdout.write("The service was started.\n");
}

export function stopService(): void {
  new GatewayService().stop();
  process.stdout.write("The service was stopped. It starts again at the next login.\n");
}

export function showService({ json }: { readonly json: boolean }): void {
  const report = new GatewayService().report();
  const { manager, file, state, problem } = report;
  if (json) process.stdout.write(`${jsonText({ ...report, problem: problem ?? null })}\n`);
  else if (state === "not installed")
    process.stdout.write("The service is not installed. Run `excursor service install`.\n");
  else {
    process.stdout.write(`The service is ${state === "failed" ? "failing" : state} (${manager}, ${file}).\n`);
    if (problem !== undefined) process.stdout.write(`${problem} Run \`excursor service install\` again.\n`);
    else if (state === "failed") process.stdout.write("`excursor service logs` shows why.\n");
  }
  if (state !== "running") process.exitCode = NOT_RUNNING;
}

export function showServiceLog({ lines, follow }: { readonly lines: number; readonly follow: boolean }): void {
  new GatewayService().showLog(lines, follow);
}

const UNINSTALLED = {
  stopped: "The service was stopped and removed.",
  removed: "The service was removed. Its manager cannot be reached, so a gateway that runs was not stopped.",
  "not installed": "The service is not installed.",
} as const;

export function uninstallService(): void {
  process.stdout.write(`${UNINSTALLED[new GatewayService().uninstall()]}\n`);
}
