import type { JsonValue } from "../core/turn.ts";

/** What the value of a keyword holds. */
type Holds =
  | "annotation"
  | "schema"
  | "schemas"
  | "items"
  | "schemas-by-name"
  | "schemas-by-pattern"
  | "schemas-or-names-by-name"
  | "names-by-name"
  | "names"
  | "reference"
  | "pattern"
  | "values"
  | "value"
  | "types"
  | "nullable"
  | { readonly name: string; readonly isIt: (value: JsonValue) => boolean };

export interface Keyword {
  readonly holds: Holds;
  /** Its schemas apply to the same value as the schema around them, not to a member of it. */
  readonly isInPlace: boolean;
}

const NUMBER: Holds = { name: "a number", isIt: (value) => Number.isFinite(value) };
const POSITIVE: Holds = { name: "a number above 0", isIt: (value) => Number.isFinite(value) && (value as number) > 0 };
const COUNT: Holds = {
  name: "a whole number from 0",
  isIt: (value) => Number.isInteger(value) && (value as number) >= 0,
};
const FLAG: Holds = { name: "true or false", isIt: (value) => typeof value === "boolean" };

const inPlace = (holds: Holds): Keyword => ({ holds, isInPlace: true });
const keyword = (holds: Holds): Keyword => ({ holds, isInPlace: false });

/**
 * The keywords that affect what a schema matches, of drafts 6 to 2020-12 and, with `nullable`, of OpenAPI. All others
 * are annotations and are dropped, unless {@link REFUSED_KEYWORDS} has them.
 */
export const KEYWORDS: ReadonlyMap<string, Keyword> = new Map(
  Object.entries<Keyword>({
    $ref: keyword("reference"),
    // References look up names and definitions themselves.
    $id: keyword("annotation"),
    $anchor: keyword("annotation"),
    $defs: keyword("annotation"),
    $schema: keyword("annotation"),
    $vocabulary: keyword("annotation"),
    $comment: keyword("annotation"),
    // Without a `$dynamicRef` or `$recursiveRef` they have no effect.
    $dynamicAnchor: keyword("annotation"),
    $recursiveAnchor: keyword("annotation"),

    type: keyword("types"),
    nullable: keyword("nullable"),
    enum: keyword("values"),
    const: keyword("value"),

    multipleOf: keyword(POSITIVE),
    maximum: keyword(NUMBER),
    exclusiveMaximum: keyword(NUMBER),
    minimum: keyword(NUMBER),
    exclusiveMinimum: keyword(NUMBER),

    maxLength: keyword(COUNT),
    minLength: keyword(COUNT),
    pattern: keyword("pattern"),

    items: keyword("items"),
    prefixItems: keyword("schemas"),
    additionalItems: keyword("schema"),
    unevaluatedItems: keyword("schema"),
    contains: keyword("schema"),
    maxContains: keyword(COUNT),
    minContains: keyword(COUNT),
    maxItems: keyword(COUNT),
    minItems: keyword(COUNT),
    uniqueItems: keyword(FLAG),

    properties: keyword("schemas-by-name"),
    patternProperties: keyword("schemas-by-pattern"),
    additionalProperties: keyword("schema"),
    unevaluatedProperties: keyword("schema"),
    propertyNames: keyword("schema"),
    maxProperties: keyword(COUNT),
    minProperties: keyword(COUNT),
    required: keyword("names"),
    dependentRequired: keyword("names-by-name"),
    dependentSchemas: inPlace("schemas-by-name"),
    dependencies: inPlace("schemas-or-names-by-name"),

    allOf: inPlace("schemas"),
    anyOf: inPlace("schemas"),
    oneOf: inPlace("schemas"),
    not: inPlace("schema"),
    if: inPlace("schema"),
    // biome-ignore lint/suspicious/noThenProperty: the keyword's name.
    then: inPlace("schema"),
    else: inPlace("schema"),
  }),
);

/**
 * Unsupported keywords that affect what a schema matches: all others that begin with `$` (`$async`, `$dynamicRef`, …),
 * and those of draft 3.
 */
export const REFUSED_KEYWORDS = /^(\$|(extends|disallow|divisibleBy)$)/;
