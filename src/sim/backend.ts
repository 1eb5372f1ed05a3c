import type { Rendezvous } from "../wire/agent/rendezvous.ts";
import type { ConnectFailure } from "./connect-failure.ts";
import type { Exchange } from "./exchange.ts";
import type { SimOptions } from "./options.ts";
import type { Tally } from "./script/tally.ts";

/** What all requests of one simulated backend share. It remembers no conversation: clients bring theirs. */
export interface Backend {
  readonly options: SimOptions;
  readonly tally: Tally;
  readonly rendezvous: Rendezvous<ConnectFailure>;
  /** Streams whose answer is not over. */
  readonly openRuns: Set<Exchange>;
  /** Browser logins under way, by the uuid that the client made up. */
  readonly logins: Map<string, Login>;
  /** When each of them was last asked for. */
  readonly polls: Map<string, number>;
  /** Where refresh tokens rotate: the one of each family that is still good. */
  readonly families: Map<string, string>;
}

interface Login {
  /** base64url(sha256(verifier)): whoever polls with the verifier is who began. */
  readonly challenge: string;
  /** Who approved it. */
  readonly authId: string;
}

/** Answers one request. What it throws becomes a Connect failure. */
export type Route = (exchange: Exchange, backend: Backend) => void | Promise<void>;

/** Routes by `METHOD /path`; a path may end in `*`. */
export type Routes = Readonly<Record<string, Route>>;
