import type { CheckpointStore } from "../../core/checkpoints.ts";
import type { Driver } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Principal } from "../../core/turn.ts";
import { accountId } from "./account-id.ts";
import { fitContext } from "./context-window.ts";
import { CursorRun } from "./cursor-run.ts";
import { Endpoints } from "./endpoint.ts";
import type { ModelCatalogue } from "./models/model.ts";
import type { Transports } from "./stream.ts";
import { TIME_ZONE } from "./time-zone.ts";

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
  /** Told once of each kind of thing that the schema does not know. */
  readonly onUnknown: (what: string) => void;
}

/** Cursor's agent protocol as a driver. */
export function createCursorDriver(options: CursorDriverOptions): Driver {
  const { origin, transports, models, checkpoints, clientVersion } = options;
  const endpoints = new Endpoints({ origin, http1: transports.h1, transport: options.transport });
  const seen = new Set<string>();
  const onUnknown = (what: string) => {
    if (seen.has(what)) return;
    seen.add(what);
    options.onUnknown(what);
  };
  const credentialOf = ({ token }: Principal) => {
    const found = token ?? options.token();
    if (!found) throw notSignedIn();
    return { id: accountId(found), token: found };
  };
  return {
    open(turn, context) {
      return new CursorRun({
        turn,
        context,
        transports,
        checkpoints,
        onUnknown,
        plan: async () => {
          const credential = credentialOf(turn.principal);
          const caller = {
            token: credential.token.reveal(),
            timezone: TIME_ZONE,
            ...(clientVersion === undefined ? {} : { clientVersion }),
          };
          const [model, endpoint] = await Promise.all([
            models.resolve(turn.model, credential, context.signal),
            endpoints.find(credential.id, caller),
          ]);
          const owner = `${turn.principal.id} ${credential.id}`;
          return { caller, endpoint, model, owner, turn: fitContext(turn, model, options.context) };
        },
        onEncoding: (baseId, kind) => models.remember(baseId, kind),
      });
    },
    listModels: async (principal, signal) => models.list(credentialOf(principal), signal),
  };
}

const notSignedIn = () =>
  new ExcursorError("unauthenticated", "No Cursor account is signed in.", {
    code: "not_signed_in",
    hint: "Start the gateway with --token, set EXCURSOR_TOKEN, or send a Cursor token as the API key; --demo needs none.",
  });
