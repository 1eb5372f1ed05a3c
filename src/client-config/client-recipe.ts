import type { Secret } from "../core/secret.ts";
import type { JsonValue } from "../core/turn.ts";

/** The face that a client uses. */
export type ClientDialect = "chat" | "responses" | "messages" | "gemini";

/** A program that can be configured to use the gateway: where its configuration is, and how to change it. */
export interface ClientRecipe {
  /** Its name on the command line. */
  readonly id: string;
  readonly title: string;
  readonly dialect: ClientDialect;
  file(machine: Machine): string;
  /**
   * Returns the configuration with the gateway added and all else unchanged. An empty text means no configuration yet.
   * Throws `config` if it cannot be parsed.
   */
  edit(text: string, gateway: OfferedGateway): string;
  /** Returns what the user should know or do next, one sentence each. */
  next(gateway: OfferedGateway): readonly string[];
}

/** A program that the user has to configure by hand, with instructions. */
export interface ClientGuide {
  readonly id: string;
  readonly title: string;
  baseUrl(gateway: GuidedGateway): string;
  /** Returns the steps in order. Further lines of a step are text to copy. */
  steps(gateway: GuidedGateway): readonly string[];
}

export interface GuidedGateway extends Pick<OfferedGateway, "url" | "models"> {
  /** The gateway's public address, without a trailing slash. */
  readonly tunnel: string | undefined;
  /** The path prefix of requests that come through the tunnel. */
  readonly pathSecret: string;
  /** Settings that the gateway still needs for the tunnel. */
  readonly missing: Readonly<Record<string, JsonValue>>;
  /** The file into which the missing settings were written, if they were. */
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
  /** The model to start with. */
  readonly model: string;
  readonly models: readonly OfferedModel[];
}

export interface OfferedModel {
  readonly id: string;
  readonly name: string;
  readonly aliases: readonly string[];
  /** In tokens. */
  readonly window: number;
  readonly isThinking: boolean;
  readonly supportsImages: boolean;
}
