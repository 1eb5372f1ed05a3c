import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";

/** Returns what is wrong with a value that should have the type of this name in `wire-types.ts`. */
export type Check = (type: string, value: unknown) => readonly string[];

/** Compiles the schemas of `make-schemas.ts` as they are needed. */
export function createCheck(schemas: Readonly<Record<string, object>>): Check {
  const ajv = new Ajv({ allErrors: true, strict: false });
  const validators = new Map<string, ValidateFunction>();
  return (type, value) => {
    const validate = validators.get(type) ?? ajv.compile(schemas[type] ?? {});
    validators.set(type, validate);
    return validate(value) ? [] : explain(validate.errors ?? []).map((problem) => `${type}${problem}`);
  };
}

/** A union fails with the errors of each of its members. Those say most that have the right `type`. */
function explain(errors: readonly ErrorObject[]): readonly string[] {
  const memberOf = ({ schemaPath }: ErrorObject) => schemaPath.split("/").slice(0, 3).join("/");
  const wrong = errors.filter(
    ({ keyword, instancePath }) => keyword === "const" && /\/(type|role)$/.test(instancePath),
  );
  const isOfWrong = (error: ErrorObject) =>
    wrong.some((one) => memberOf(one) === memberOf(error) && error.instancePath.startsWith(placeOf(one)));
  const right = errors.filter((error) => error.keyword !== "anyOf" && !isOfWrong(error));
  return [...new Set((right.length > 0 ? right : errors).map(inWords))].slice(0, 8);
}

const placeOf = ({ instancePath }: ErrorObject): string => instancePath.replace(/[^/]*$/, "").replace(/\/$/, "");

const inWords = ({ instancePath, message, params }: ErrorObject): string =>
  `${instancePath} ${message} ${JSON.stringify(params)}`;
