import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Accounts } from "../../app/accounts/open-accounts.ts";
import type { LoadedConfig } from "../../app/load-config.ts";
import { ExcursorError } from "../../core/errors.ts";
import { AgentService } from "../../gen/agent/v1/service_pb.ts";
import { ServerConfigService } from "../../gen/aiserver/v1/server_config_pb.ts";
import { callHeaders, DEFAULT_CLIENT_VERSION } from "../../wire/agent/headers.ts";
import { callUnary } from "../../wire/connect/unary.ts";
import type { VersionProbe } from "./probe-versions.ts";

const TIMEOUT_MS = 15_000;
const MAX_INSTALLED = 5;

/** Connects the probe to the backend. Its calls list models, which costs nothing. */
export function openVersionProbe({ values }: LoadedConfig, { access, origin, transport }: Accounts): VersionProbe {
  const configured = values.clientVersion ?? DEFAULT_CLIENT_VERSION;
  const callAs = async (clientVersion: string) => {
    // A token that the backend refuses is not renewed here: that would be one call more.
    const { token } = await access.get(values.account);
    const headers = callHeaders("unary-proto", { token: token.reveal(), clientVersion });
    return { transport, origin, headers, timeoutMs: TIMEOUT_MS };
  };
  return {
    configured,
    installed: installedVersions(),
    async askStatus() {
      const { getServerConfig: method } = ServerConfigService.method;
      const answer = await callUnary({ ...(await callAs(configured)), method, input: {} }).catch(undefinedIfRefused);
      const status = answer?.clientVersionStatus;
      return (
        status && {
          minAllowed: status.minAllowedClientVersion,
          minSupported: status.minSupportedClientVersion,
          current: status.currentClientVersion,
        }
      );
    },
    async ask(version) {
      const { getUsableModels: method } = AgentService.method;
      const answer = await callUnary({ ...(await callAs(version)), method, input: {} }).catch(undefinedIfRefused);
      return answer !== undefined;
    },
  };
}

/** Cursor refuses an old version in several ways; a bare `permission_denied` is one of them. */
function undefinedIfRefused(error: unknown): undefined {
  const { kind } = ExcursorError.from(error);
  if (kind !== "outdated-client" && kind !== "forbidden") throw error;
}

/** Cursor's CLI keeps its builds in folders that are named after them. */
function installedVersions(): readonly string[] {
  try {
    return readdirSync(join(homedir(), ".local/share/cursor-agent/versions"))
      .filter((name) => /^\d{4}\.\d\d\.\d\d-[\da-f]+$/.test(name))
      .map((name) => `cli-${name}`)
      .toSorted()
      .slice(-MAX_INSTALLED);
  } catch {
    return [];
  }
}
