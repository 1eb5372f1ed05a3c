import type { AccessTokens } from "../../core/access/access.ts";
import type { Driver, ModelInfo } from "../../core/driver.ts";
import type { Principal, Turn } from "../../core/turn.ts";
import type { ClientHeaders } from "../../wire/agent/headers.ts";
import type { HttpTransport } from "../../wire/http/http.ts";
import type { AccountCredential } from "../shared/account-credential.ts";
import { credentialOf, renewedCredential } from "../shared/account-credential.ts";
import { legacyHeaders } from "./headers.ts";
import { LegacyRun } from "./legacy-run.ts";
import { type PreparedTurn, streamChat, unifiedChat } from "./protocol.ts";

export interface LegacyDriverOptions {
  readonly origin: string;
  readonly transport: HttpTransport;
  /** `chat` is StreamChat, `unified` StreamUnifiedChatWithTools. */
  readonly method: "chat" | "unified";
  readonly access: AccessTokens;
  /** These calls belong to the IDE, and need its version format. */
  readonly client?: ClientHeaders;
  readonly models: LegacyModels;
}

/** The models of the account. These calls do not list them. */
export interface LegacyModels {
  list(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  find(name: string, principal: Principal): Promise<ModelInfo>;
  /** Returns the turn with the backend's model name, trimmed to the model's context. */
  prepare(turn: Turn): Promise<PreparedTurn>;
}

/** Creates a driver for the older chat calls, for backends that still serve them. */
export function createLegacyDriver(options: LegacyDriverOptions): Driver {
  const { origin, transport, method, client, models } = options;
  return {
    open: (turn, context) => {
      let credential: AccountCredential | undefined;
      const headersFor = (credential: AccountCredential) => legacyHeaders(credential, client);
      const parts = {
        context,
        transport,
        origin,
        protocol: method === "chat" ? streamChat : unifiedChat,
        prepare: () => models.prepare(turn),
        headers: async () => {
          credential = await credentialOf(turn.principal, options.access);
          return headersFor(credential);
        },
        renewHeaders: async () => {
          const renewed = credential && (await renewedCredential(turn.principal, options.access, credential));
          return renewed && headersFor(renewed);
        },
      };
      const run = new LegacyRun(parts);
      void run.start(parts);
      return run;
    },
    listModels: (principal, signal) => models.list(principal, signal),
    findModel: (name, principal) => models.find(name, principal),
  };
}
