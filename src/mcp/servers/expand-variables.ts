export interface VariableSource {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly workspaceFolder: string;
}

/** `${NAME}`, `${NAME:-otherwise}`, `${env:NAME}`, `${userHome}`, `${workspaceFolder}`. */
const VARIABLE = /\$\{(env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}/g;

/**
 * Replaces variables in the strings of a JSON value, in the syntax of Cursor and others. Reports unset variables with
 * their fields, and returns undefined if there are any.
 */
export function expandVariables(
  value: unknown,
  source: VariableSource,
  onUnset: (field: string, variable: string) => void,
): { readonly value: unknown } | undefined {
  let isComplete = true;
  const expand = (inner: unknown, field: string): unknown => {
    if (typeof inner === "string") {
      return inner.replace(VARIABLE, (whole, isEnvironment: string | undefined, name: string, otherwise?: string) => {
        const found = (isEnvironment ? undefined : known(name, source)) ?? source.environment[name] ?? otherwise;
        if (found !== undefined) return found;
        isComplete = false;
        onUnset(field, whole);
        return "";
      });
    }
    if (Array.isArray(inner)) return inner.map((item, index) => expand(item, `${field}[${index}]`));
    if (typeof inner !== "object" || inner === null) return inner;
    return Object.fromEntries(Object.entries(inner).map(([name, item]) => [name, expand(item, `${field}.${name}`)]));
  };
  const expanded = expand(value, "");
  return isComplete ? { value: expanded } : undefined;
}

function known(name: string, { userHome, workspaceFolder }: VariableSource): string | undefined {
  if (name === "userHome") return userHome;
  return name === "workspaceFolder" ? workspaceFolder : undefined;
}
