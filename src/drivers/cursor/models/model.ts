import type { ModelInfo } from "../../../core/driver.ts";
import type { ModelChoice } from "../../../core/turn.ts";
import type { AccountCredential } from "../../shared/account-credential.ts";

/** What the account may use, and what a client's name for a model means on the wire. */
export interface ModelCatalogue {
  /** A row a base model, as the backend orders them. */
  list(credential: AccountCredential, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** One of them, by any name that {@link resolve} takes; with parameters, its window is that of what they ask for. */
  find(name: string, credential: AccountCredential): Promise<ModelInfo>;
  /** Throws `model-not-found`, naming what is close, or `invalid-request` for a parameter that the model lacks. */
  resolve(choice: ModelChoice, credential: AccountCredential): Promise<ResolvedModel>;
  /** This encoding was taken where another was refused: {@link resolve} puts it first from now on. */
  remember(baseId: string, kind: EncodingKind): void;
}

export interface ResolvedModel {
  /** The model without its parameters: what {@link ModelCatalogue.remember} wants. */
  readonly baseId: string;
  /** What clients call it, e.g. `auto` where the wire says `default`. */
  readonly displayId: string;
  /**
   * How to ask for it, the likelier first. If the backend refuses one before the first token (`not_found`,
   * `resource_exhausted`), the other may do; which of the two flips over time and by family.
   */
  readonly encodings: readonly [ModelEncoding, ModelEncoding?];
  /** The window of what was asked for, in tokens. */
  readonly contextTokens: number;
  /** The window in max mode; undefined where there is none to switch on. */
  readonly maxModeContextTokens: number | undefined;
  readonly supportsImages: boolean;
  /** The effort that was asked for, if one was, is not the one that it gets. */
  readonly ignoresEffort: boolean;
  /** How hard it thinks, by its own parameter or by what was asked of a model that thinks; undefined if that is not known. */
  readonly effort: string | undefined;
}

/** `variant`: the parameters are suffixes of the id. `parameters`: they stand beside the base id. */
export type EncodingKind = "variant" | "parameters";

/** Goes into ModelDetails and RequestedModel alike: the backend wants both. */
export interface ModelEncoding {
  readonly kind: EncodingKind;
  readonly modelId: string;
  readonly displayModelId: string;
  readonly displayName: string;
  /** In the catalogue's order. */
  readonly parameters: readonly ModelParameter[];
  readonly maxMode: boolean;
}

export interface ModelParameter {
  readonly id: string;
  readonly value: string;
}
