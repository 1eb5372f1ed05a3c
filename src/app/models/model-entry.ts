export interface ModelEntry {
  readonly id: string;
  readonly name?: string;
  readonly aliases?: readonly string[];
  readonly context_length?: number;
  readonly reasoning?: boolean;
  readonly reasoning_efforts?: readonly string[];
  readonly architecture?: { readonly input_modalities?: readonly string[] };
}
