import { ExcursorError } from "../../../core/errors.ts";
import { runningGateway } from "../../gateway-address.ts";
import { GatewayService } from "../../service/service.ts";
import { warnOfWithheld } from "./service.ts";

const READY_MS = 20_000;
const POLL_MS = 200;

/**
 * Installs the service, waits until it answers, and returns its file. Removes it again if it does not: another gateway
 * can have the port then.
 */
export async function installProvenService(url: string, isDemo: boolean): Promise<string> {
  const service = new GatewayService();
  warnOfWithheld(service.install(isDemo ? ["--demo"] : []));
  const deadline = performance.now() + READY_MS;
  while (!(await runningGateway({}))) {
    if (performance.now() > deadline) {
      service.uninstall();
      throw new ExcursorError("service_failed", `The service did not answer at ${url}. It was removed.`, {
        hint: "Install it with `excursor service install`; then `excursor service logs` shows why.",
      });
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return service.file;
}
