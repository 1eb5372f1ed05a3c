import type { AccessTokens } from "../../core/access.ts";
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
  /** These calls are the IDE's, and want its kind of version. */
  readonly client?: ClientHeaders;
  readonly models: LegacyModels;
}

/** The models of the account, which these calls do not list themselves. */
export interface LegacyModels {
  list(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  find(name: string, principal: Principal): Promise<ModelInfo>;
  /** Returns the turn with the backend's name of its model, and no longer than the model reads. */
  prepare(turn: Turn): Promise<PreparedTurn>;
}

/** The older chat calls of the backend as a driver, for backends that still serve them. */
export function createLegacyDriver(options: LegacyDriverOptions): Driver {
  const { origin, transport, method, client, models } = options;
  return {
    open: (turn, context) => {
      let credential: AccountCredential | undefined;
      const headersFor = (credential: AccountCredential) => legacyHeaders(credential, client);
      return new LegacyRun({
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
      });
    },
    listModels: (principal, signal) => models.list(principal, signal),
    findModel: (name, principal) => models.find(name, principal),
  };
}
