import type { Secret } from "../secret.ts";
import { findSecrets } from "./secret-scanner.ts";

/** Names of variables that hold a secret. */
const SECRET_NAME =
  /TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|JWT|API_?KEY|KEYS?(?:_?\d+)?$|_(?:PASS|PWD|PAT|AUTH|DSN)$|^AUTH/;

/** Such names that say where a secret is, or how much of something: not what it is. */
const ABOUT_SECRET = /MAX|LIMIT|COUNT|_(?:FILE|PATH|DIR|HOME|URL|URI|ENDPOINT|HOST|TYPE|MODE|METHOD|TTL|TIMEOUT|NAME)$/;

const MIN_CHARS = 8;
const MIN_RANDOM_CHARS = 32;

/** Long, and with a run of letters and digits that is no word. */
const isRandom = (value: string): boolean =>
  value.length >= MIN_RANDOM_CHARS &&
  /^[\w+=-]+$/.test(value) &&
  value.split(/[-_]/).some((run) => run.length >= MIN_RANDOM_CHARS / 2 && /\d/.test(run) && /[A-Za-z]/.test(run));

/** Whether a value must not show in any text, by the name of its variable and by its own form. */
export const isSecretValue = (name: string, value: string): boolean =>
  value.length >= MIN_CHARS &&
  ((SECRET_NAME.test(name.toUpperCase()) && !ABOUT_SECRET.test(name.toUpperCase())) ||
    findSecrets(value).some(({ type }) => type !== "person") ||
    isRandom(value));

/** The secrets among the variables of a program. The others are paths, addresses and modes: logs may have them. */
export const secretsAmong = (environment: Readonly<Record<string, Secret>>): readonly Secret[] =>
  Object.entries(environment).flatMap(([name, value]) => (isSecretValue(name, value.reveal()) ? [value] : []));
