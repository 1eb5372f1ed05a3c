export type Shell = "sh" | "fish" | "powershell";

const FORMS: Readonly<Record<Shell, (name: string, value: string) => string>> = {
  sh: (name, value) => `export ${name}='${value.replaceAll("'", "'\\''")}'`,
  fish: (name, value) => `set -gx ${name} '${value.replace(/[\\']/g, "\\$&")}'`,
  powershell: (name, value) => `$env:${name} = '${value.replaceAll("'", "''")}'`,
};

/** Formats variables as shell commands, one a line. */
export const formatEnvironment = (variables: Readonly<Record<string, string>>, shell: Shell): string =>
  Object.entries(variables)
    .map(([name, value]) => `${FORMS[shell](name, value)}\n`)
    .join("");
