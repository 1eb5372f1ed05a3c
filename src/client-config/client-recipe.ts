import type { Secret } from "../core/secret.ts";
import type { JsonValue } from "../core/turn.ts";

/** Which of our faces a client speaks to. */
export type ClientDialect = "chat" | "responses" | "messages";

/** One program that can be pointed at the gateway: where its configuration is, and what has to stand in it. */
export interface ClientRecipe {
  /** As on the command line. */
  readonly id: string;
  readonly title: string;
  readonly dialect: ClientDialect;
  /** Its configuration for this user. */
  file(machine: Machine): string;
  /** Its configuration with the gateway in it and all else as it was. Empty text is none. Throws `config` if it cannot be read. */
  edit(text: string, gateway: OfferedGateway): string;
  /** What is left to know or to do, a sentence each. */
  next(gateway: OfferedGateway): readonly string[];
}

/** A program that has to be connected by hand: what its user has to do. */
export interface ClientGuide {
  readonly id: string;
  readonly title: string;
  /** What the program calls. */
  baseUrl(gateway: GuidedGateway): string;
  /** One after the other; further lines of a step are to be copied. */
  steps(gateway: GuidedGateway): readonly string[];
}

export interface GuidedGateway extends Pick<OfferedGateway, "url" | "models"> {
  /** Where it can be reached from outside, without a slash at its end. */
  readonly tunnel: string | undefined;
  /** What stands before paths that come from there. */
  readonly pathSecret: string;
  /** Settings of the gateway that it needs for that and has not. */
  readonly missing: Readonly<Record<string, JsonValue>>;
  /** The file into which those were written, if they were. */
  readonly writtenTo: string | undefined;
}

export interface Machine {
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly exists: (path: string) => boolean;
}

export interface OfferedGateway {
  /** Without `/v1`. */
  readonly url: string;
  readonly key: Secret;
  /** The one to begin with. */
  readonly model: string;
  readonly models: readonly OfferedModel[];
}

export interface OfferedModel {
  readonly id: string;
  readonly name: string;
  /** What else it can be asked for as. */
  readonly aliases: readonly string[];
  /** In tokens. */
  readonly window: number;
  readonly isThinking: boolean;
  readonly supportsImages: boolean;
}
