/** Fields, members and variables with such names hold a secret. It is the end of the name. */
const NAME_ENDS = "token|secret|password|passwd|(?:api|access|secret|encryption|private)[_-]?key|credentials?";

const SECRET_NAME = new RegExp(`(?:${NAME_ENDS}|cookie)$`, "i");

/** True if a value is a secret, whatever it looks like, because of its name. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name);

/** A secret by its name in JSON inside a text, such as the arguments of a tool, however often its quotes are escaped. */
export const NAMED_SECRET = new RegExp(
  `(\\\\{0,7})"[\\w-]{0,64}(?:${NAME_ENDS}|cookie)\\1"\\s{0,8}:\\s{0,8}\\1"([^"\\\\]{8,4096})\\1"`,
  "gi",
);

/** A word can follow an escaped line break, in JSON. */
const START = /(?:(?<!\\)\b|(?<=\\[nrtbf]))/.source;
/** What stands between a name and its value: `=`, `: `, `": "`, in JSON with escaped quotes. */
const ASSIGN = /(?:\\{0,3}["'`])?\s{0,3}[:=]\s{0,3}(?:\\{0,3}["'`])?/.source;

/** Prefixes of tokens and keys: those of Excursor, Cursor and others. */
const PREFIXES = "exc|crsr|sk|rk|key|gh[opsur]|github_pat|glpat|xai|xapp|xox[abeoprs]";

/** What looks like a secret, or names a person. Each has one character for each byte. */
const SHAPES: readonly RegExp[] = [
  // A variable, as in a file .env. A reference to another one is not a secret.
  new RegExp(`(?<=(?:${NAME_ENDS.toUpperCase()})=["']?)[^\\s"'\`\\\\,;&$][^\\s"'\`\\\\,;&]{7,}`, "g"),
  // In code, YAML and URLs. What has no digit may be code, and what is a number must stay one.
  new RegExp(`(?<=(?:${NAME_ENDS})${ASSIGN})(?=[^\\s\\d]{0,256}\\d)(?!\\d+\\b)[^\\s"'\`\\\\,;&()[\\]{}<>$]{8,}`, "gi"),
  /(?<=\bBearer(?: |%20)+)[^\s"'\\,;]{8,}/gi,
  new RegExp(`(?<=\\bauthorization${ASSIGN}(?:Basic|Token) )[^\\s"'\\\\,;]{8,}`, "gi"),
  new RegExp(`${START}eyJ[\\w-]{5,}\\.[\\w-]{5,}(?:\\.[\\w-]*)?`, "g"),
  new RegExp(`${START}(?:${PREFIXES})[-_][\\w-]{16,}`, "g"),
  new RegExp(`${START}(?:(?:npm|hf|gsk)_[A-Za-z\\d]{30,}|A[KS]IA[A-Z\\d]{16}|AIza[\\w-]{30,})`, "g"),
  new RegExp(`${START}[\\w.+\\x80-\\xff-]{1,64}(?:@|%40)[\\w-]{1,63}(?:\\.[\\w-]{1,63}){1,4}\\b`, "g"),
  /(?<=\/(?:home|Users)\/|\b[A-Za-z]:(?:\\{1,2}|\/)Users(?:\\{1,2}|\/))[\w.-]+/g,
  /(?<=\bWorkosCursorSessionToken=)[^\s"'\\;]+/g,
  /(?<=:\/\/[^\s"'\\/?#@:]*:)[^\s"'\\/?#@]+(?=@)/g,
  /(?<=-----BEGIN (?:[A-Z]{1,12} ){0,3}PRIVATE KEY-----)[^-]{16,16384}(?=-----END)/g,
];

/** Each shape has one of these. What comes before it is only looked at where text has such a character, for speed. */
const TRACES: readonly RegExp[] = [
  /@|%40|eyJ|[Bb][Ee][Aa][Rr][Ee][Rr]|A[KS]IA|AIza|PRIVATE KEY|home\/|Users[\\/]/,
  new RegExp(`[-_](?<=(?:${PREFIXES}|npm|hf|gsk)[-_])`),
  /[:=](?<=(?:token|secret|passw(?:or)?d|key|credentials?|authorization)[\\"'`]{0,4}\s{0,3}[:=])/i,
];

/** False only if no shape is in the text. Takes a fraction of the time. */
const hasTrace = (text: string): boolean => TRACES.some((trace) => trace.test(text));

/** Replaces what looks like a secret by what `mask` returns for it, which has the same length. */
export const maskShapes = (text: string, mask: (secret: string) => string): string =>
  hasTrace(text) ? SHAPES.reduce((masked, shape) => masked.replace(shape, (secret) => mask(secret)), text) : text;
