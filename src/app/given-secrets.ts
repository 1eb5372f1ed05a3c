import { proxySecrets } from "../wire/http/proxy.ts";

const SECRET_FLAG = /^--(?:key|token|api-key|cookie|seed)(?:=(.*))?$/s;
const SECRET_VARIABLE = /KEY|TOKEN|SECRET|COOKIE|PASSWORD/;

/** Returns every secret in the flags and the environment, used or not, for the redactor. */
export function givenSecrets(): readonly string[] {
  const { argv, env } = process;
  const flags = argv.flatMap((argument, index) => {
    const flag = SECRET_FLAG.exec(argument);
    return flag ? [flag[1] ?? argv[index + 1] ?? ""] : [];
  });
  const variables = Object.entries(env).flatMap(([name, value]) => (SECRET_VARIABLE.test(name) ? [value ?? ""] : []));
  return [...flags, ...variables, ...proxySecrets(env)];
}
