import type { ModelInfo } from "../../../core/driver.ts";
import type { ModelChoice } from "../../../core/turn.ts";
import type { AccountCredential } from "../../shared/account-credential.ts";

/** The account's models, and the meaning of their names on the wire. */
export interface CursorModels {
  /** Lists base models in the backend's order. */
  list(credential: AccountCredential, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** Finds a model by any name that {@link resolve} accepts. Parameters in the name determine its context window. */
  find(name: string, credential: AccountCredential): Promise<ModelInfo>;
  /**
   * Resolves a name. Throws `model-not-found` with similar names, or `invalid-request` for an unsupported parameter.
   */
  resolve(choice: ModelChoice, credential: AccountCredential): Promise<ResolvedModel>;
  /** Records that this encoding worked where the other was refused. {@link resolve} then prefers it. */
  remember(baseId: string, kind: EncodingKind): void;
}

export interface ResolvedModel {
  /** The model without its parameters; the key of {@link CursorModels.remember}. */
  readonly baseId: string;
  /** The clients' name, such as `auto` for the wire's `default`. */
  readonly displayId: string;
  /**
   * The possible encodings, the likelier first. If the backend refuses one before the first token (`not_found`,
   * `resource_exhausted`), the other may work. Which of the two works varies by time and model family.
   */
  readonly encodings: readonly [ModelEncoding, ModelEncoding?];
  /** The context window of the request, in tokens. */
  readonly contextTokens: number;
  /** The window in max mode. Undefined if there is no max mode. */
  readonly maxModeContextTokens: number | undefined;
  readonly supportsImages: boolean;
  /** True if the requested effort is not the one it gets. */
  readonly ignoresEffort: boolean;
  /** The effort by its own parameter, or the requested one of a thinking model. Undefined if unknown. */
  readonly effort: string | undefined;
}

/** `variant`: the parameters are suffixes of the id. `parameters`: they are sent beside the base id. */
export type EncodingKind = "variant" | "parameters";

/** Sent in both ModelDetails and RequestedModel, since the backend needs both. */
export interface ModelEncoding {
  readonly kind: EncodingKind;
  readonly modelId: string;
  readonly displayModelId: string;
  readonly displayName: string;
  /** In the backend's order. */
  readonly parameters: readonly ModelParameter[];
  readonly maxMode: boolean;
}

export interface ModelParameter {
  readonly id: string;
  readonly value: string;
}
