import type { Rendezvous } from "../wire/agent/rendezvous.ts";
import type { UnknownCalls } from "../wire/agent/unknown-calls.ts";
import type { ConnectFailure } from "../wire/connect/connect-failure.ts";
import type { Charges } from "./charges.ts";
import type { SimOptions } from "./options.ts";
import type { Tally } from "./script/tally.ts";
import type { SimExchange } from "./sim-exchange.ts";

/** What all requests of one simulated backend share. It stores no conversations: clients send theirs. */
export interface Backend {
  readonly options: SimOptions;
  readonly tally: Tally;
  readonly rendezvous: Rendezvous<ConnectFailure>;
  /** Streams that have not ended. */
  readonly openRuns: Set<SimExchange>;
  /** Browser logins under way, by the client's uuid. */
  readonly logins: Map<string, Login>;
  /** When each login was last polled. */
  readonly polls: Map<string, number>;
  /** The valid refresh token of each family, if refresh tokens rotate. */
  readonly families: Map<string, string>;
  readonly charges: Charges;
  /** Answers calls that have no route. */
  readonly unknown: UnknownCalls;
  /** How many those were. */
  unknownCalls: number;
}

interface Login {
  /** base64url(sha256(verifier)): proves that the polling client began the login. */
  readonly challenge: string;
  /** The subject that approved it. */
  readonly authId: string;
}

/** Handles one request. What it throws is sent as a Connect failure. */
export type Route = (exchange: SimExchange, backend: Backend) => void | Promise<void>;

/** Routes by `METHOD /path`; a path may end in `*`. */
export type Routes = Readonly<Record<string, Route>>;
