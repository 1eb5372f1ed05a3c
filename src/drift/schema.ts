/** A field of a message, as far as it matters on the wire. */
export interface SchemaField {
  readonly number: number;
  readonly name: string;
  /** A scalar (`string`), a message or enum (`agent.v1.AgentMode`), or a map (`map<string, agent.v1.Rule>`). */
  readonly type: string;
  readonly isRepeated: boolean;
  readonly isOptional: boolean;
  readonly oneof?: string | undefined;
}

export interface SchemaMethod {
  readonly input: string;
  readonly output: string;
}

/** A protobuf schema in the one form in which two of them are compared. Types have their full names. */
export interface Schema {
  readonly messages: ReadonlyMap<string, readonly SchemaField[]>;
  /** Names of values by number. */
  readonly enums: ReadonlyMap<string, ReadonlyMap<number, string>>;
  /** By path, such as `/agent.v1.AgentService/Run`. */
  readonly methods: ReadonlyMap<string, SchemaMethod>;
}

/** Scalar types by their number in protobuf's descriptors. */
const SCALARS: Readonly<Record<number, string>> = {
  1: "double",
  2: "float",
  3: "int64",
  4: "uint64",
  5: "int32",
  6: "fixed64",
  7: "fixed32",
  8: "bool",
  9: "string",
  12: "bytes",
  13: "uint32",
  15: "sfixed32",
  16: "sfixed64",
  17: "sint32",
  18: "sint64",
};

export const scalarName = (type: number): string => SCALARS[type] ?? `type ${type}`;

/** Stands for every type of protobuf itself: the SDK's code does not declare them. */
export const WELL_KNOWN = "google.protobuf";
