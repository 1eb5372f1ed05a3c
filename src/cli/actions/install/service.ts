import { GatewayService } from "../../service/service.ts";

/** As `systemctl status` has it for a service that does not run. */
const NOT_RUNNING = 3;

export function installService({ demo }: { readonly demo: boolean }): void {
  const service = new GatewayService();
  service.install(demo ? ["--demo"] : []);
  process.stdout.write(
    `The service is installed (${service.file}) and started.\n\`excursor service status\` shows its state, \`excursor service logs\` its log.\n`,
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
  if (json) process.stdout.write(`${JSON.stringify({ ...report, problem: problem ?? null })}\n`);
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

export function uninstallService(): void {
  const isRemoved = new GatewayService().uninstall();
  process.stdout.write(isRemoved ? "The service was stopped and removed.\n" : "The service is not installed.\n");
}
