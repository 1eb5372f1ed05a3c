import { proxySecrets } from "../wire/http/proxy.ts";

const SECRET_FLAG = /^--(?:key|token|api-key|cookie|seed)(?:=(.*))?$/s;
const SECRET_VARIABLE = /KEY|TOKEN|SECRET|COOKIE|PASSWORD/;

/** Whatever was given to this process as a secret, used or not: it must not be in anybody's words, not even a bug's. */
export function givenSecrets(): readonly string[] {
  const { argv, env } = process;
  const flags = argv.flatMap((argument, index) => {
    const flag = SECRET_FLAG.exec(argument);
    return flag ? [flag[1] ?? argv[index + 1] ?? ""] : [];
  });
  const variables = Object.entries(env).flatMap(([name, value]) => (SECRET_VARIABLE.test(name) ? [value ?? ""] : []));
  return [...flags, ...variables, ...proxySecrets(env)];
}
