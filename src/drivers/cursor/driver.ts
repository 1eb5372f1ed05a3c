import type { CheckpointStore } from "../../core/checkpoints.ts";
import type { Driver } from "../../core/driver.ts";
import type { Secret } from "../../core/secret.ts";
import { fitContext } from "./context-window.ts";
import { credentialOf, ownerOf } from "./credential.ts";
import { CursorRun } from "./cursor-run.ts";
import { Endpoints } from "./endpoint.ts";
import type { ModelCatalogue } from "./models/model.ts";
import type { Transports } from "./stream.ts";
import { TIME_ZONE } from "./time-zone.ts";
import { UnknownTally } from "./unknown.ts";

export interface CursorDriverOptions {
  readonly origin: string;
  readonly transports: Transports;
  readonly transport: "auto" | "h2" | "h1";
  readonly models: ModelCatalogue;
  readonly checkpoints: CheckpointStore;
  /** The account's token for principals that brought none; undefined if there is none. */
  readonly token: () => Secret | undefined;
  readonly clientVersion?: string | undefined;
  /** What to do with a conversation that is longer than the model's window. */
  readonly context: "refuse" | "trim";
  /** Told of each thing that the schema does not know: the first time, and at every tenfold. */
  readonly onUnknown: (what: string, count: number) => void;
}

/** Cursor's agent protocol as a driver. */
export function createCursorDriver(options: CursorDriverOptions): Driver {
  const { origin, transports, models, checkpoints, clientVersion } = options;
  const endpoints = new Endpoints({ origin, http1: transports.h1, transport: options.transport });
  const unknown = new UnknownTally(options.onUnknown);
  return {
    open(turn, context) {
      return new CursorRun({
        turn,
        context,
        transports,
        checkpoints,
        unknown,
        plan: async () => {
          const credential = credentialOf(turn.principal, options.token());
          const caller = {
            token: credential.token.reveal(),
            timezone: TIME_ZONE,
            ...(clientVersion === undefined ? {} : { clientVersion }),
          };
          const [model, endpoint] = await Promise.all([
            models.resolve(turn.model, credential, context.signal),
            endpoints.find(credential.id, caller),
          ]);
          const owner = ownerOf(turn.principal, credential);
          return { caller, endpoint, model, owner, turn: fitContext(turn, model, options.context) };
        },
        onEncoding: (baseId, kind) => models.remember(baseId, kind),
      });
    },
    listModels: async (principal, signal) => models.list(credentialOf(principal, options.token()), signal),
  };
}
