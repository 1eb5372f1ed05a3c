import { createHash, randomUUID } from "node:crypto";
import type { AccessTokens } from "../../core/access.ts";
import type { Driver, ModelInfo } from "../../core/driver.ts";
import type { Principal, Turn } from "../../core/turn.ts";
import { checksum } from "../../wire/checksum.ts";
import { callHeaders } from "../../wire/headers.ts";
import type { HttpTransport } from "../../wire/http.ts";
import { credentialOf, renewedCredential } from "../cursor/credential.ts";
import type { ModelCredential } from "../cursor/models/model.ts";
import { LegacyRun } from "./legacy-run.ts";
import { type PreparedTurn, streamChat, unifiedChat } from "./protocol.ts";

export interface LegacyDriverOptions {
  readonly origin: string;
  readonly transport: HttpTransport;
  /** `chat` is StreamChat, `unified` StreamUnifiedChatWithTools. */
  readonly method: "chat" | "unified";
  readonly access: AccessTokens;
  /** These calls are the IDE's, and want its kind of version. */
  readonly clientVersion?: string | undefined;
  readonly listModels: (principal: Principal, signal: AbortSignal) => Promise<readonly ModelInfo[]>;
  readonly prepare: (turn: Turn) => Promise<PreparedTurn>;
}

const IDE_VERSION = "2.6.21";

/** The older chat calls of the backend as a driver, for backends that still serve them. */
export function createLegacyDriver(options: LegacyDriverOptions): Driver {
  const { origin, transport, method, clientVersion = IDE_VERSION, listModels } = options;
  return {
    open: (turn, context) => {
      let credential: ModelCredential | undefined;
      const headersFor = ({ id, token }: ModelCredential) => {
        // Stable for an account: the backend counts devices by it.
        const device = createHash("sha256").update(id).digest("hex");
        return callHeaders("run", {
          token: token.reveal(),
          requestId: randomUUID(),
          clientType: "ide",
          clientVersion,
          checksum: checksum({ device }),
        });
      };
      return new LegacyRun({
        context,
        transport,
        origin,
        protocol: method === "chat" ? streamChat : unifiedChat,
        prepare: () => options.prepare(turn),
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
    listModels,
  };
}
