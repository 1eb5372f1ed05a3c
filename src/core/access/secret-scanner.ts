/** Where a secret is in a text, or what names a person. */
export interface SecretSpan {
  readonly start: number;
  readonly end: number;
  /** `member`: the value of a member of JSON whose name says that it is a secret. */
  readonly type: "secret" | "member" | "person";
}

/** Names of variables, members, fields and headers that hold a secret end so, without regard to case, `_`, `-` and `.`. */
const NAME_ENDS =
  "token secret password passwd passphrase pass pwd apikey accesskey secretkey encryptionkey privatekey signingkey accountkey sharedkey authkey licensekey credential credentials cookie authorization auth jwt".split(
    " ",
  );

/** How tokens and keys of well-known services begin. At least {@link SHORTEST_TOKEN} characters follow. */
const PREFIXES =
  "exc_ exc- crsr_ crsr- sk- rk- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- glcbt- gloas- glsoat- glft- glimt- glagent- xai- xapp- xoxa- xoxb- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- pypi- SG. AKIA ASIA ABIA ACCA ABSK AIza ya29. GOCSPX- 1//0 dop_v1_ doo_v1_ dor_v1_ whsec_ shpat_ shpca_ shpss_ shppa_ sbp_ sb_secret_ sq0atp- sq0csp- lin_api_ lin_oauth_ PMAK- rubygems_ dckr_pat_ dckr_oat_ hvs. hvb. hvr. glsa_ sntrys_ sntryu_ NRAK- pplx- r8_ tgp_v1_ pscale_tkn_ pscale_pw_ pscale_oauth_ AGE-SECRET-KEY- ATATT3 ATCTT3 ATBB dp.pt. dp.st. dp.ct. fo1_ HRKU- figd_ xkeysib- hooks.slack.com/services/ eyJ".split(
    " ",
  );
/** Names in code begin so, too: letters and digits must follow that make no word. */
const WORDS = "npm_ gsk_ key_ key- sk_ rk_ pk_live_ secret_ hf_ ntn_ ops_ rnd_ fw_ glc_ dapi EAAA".split(" ");
const SHORTEST_TOKEN = 16;
const LONGEST_LOOK = 64;
/** Tokens without a prefix of their own: of Discord, Telegram and Twilio. */
const FORMS: Readonly<Record<string, RegExp>> = {
  MNO: /[MNO][\w-]{23,27}\.[\w-]{6,7}\.[\w-]{27,64}/y,
  "0123456789": /\d{8,10}:AA[\w-]{33}(?![\w-])/y,
  AS: /(?:AC|SK)[\da-f]{32}(?!\w)/y,
};
/** Shorter values of a name are no secrets. */
const SHORTEST_VALUE = 8;
/** In a quoted value, or a private key, at most so much is a secret. */
const LONGEST_VALUE = 16 * 1024;

const PRIVATE_KEY = "PRIVATE KEY-----";

const [WORD, TOKEN, VALUE, SPACE, ADDRESS, NAME] = [1, 2, 4, 8, 16, 32];
/** Classes of each character. Those above have none but `VALUE`. */
const CLASSES = Uint8Array.from({ length: 256 }, (_, code) => {
  const letter = String.fromCharCode(code);
  const classes: readonly (readonly [number, RegExp])[] = [
    [WORD, /\w/],
    [TOKEN, /[\w.~=-]/],
    [VALUE, /(?!["'`\\,;&()[\]{}<>|])[!-\xff]/],
    [SPACE, /[ \t]/],
    [ADDRESS, /[\w.+\x80-\xff-]/],
    [NAME, /[\w.-]/],
  ];
  return classes.reduce((sum, [bit, form]) => sum + (form.test(letter) ? bit : 0), 0);
});
const [PERCENT, COLON, EQUALS, AT, BRACKET, BACKSLASH, TILDE] = [37, 58, 61, 64, 91, 92, 126];

type Find = (text: string, at: number) => number;

/** Finders of secrets that begin with a letter, by its code. Each returns where the secret ends, or -1. */
const FINDERS = new Map<number, Find[]>();
const addFinder = (letter: string, find: Find) => {
  const code = letter.charCodeAt(0);
  FINDERS.set(code, [...(FINDERS.get(code) ?? []), find]);
};
for (const prefix of [...PREFIXES, ...WORDS]) {
  const isWord = WORDS.includes(prefix);
  addFinder(prefix, (text, at) => tokenEnd(text, at, prefix, isWord));
}
for (const [letters, form] of Object.entries(FORMS)) for (const one of letters) addFinder(one, formEnd(form));

/** True if a value is a secret, whatever it looks like, because of its name. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[-_.]/g, "");
  return NAME_ENDS.some((end) => plain.endsWith(end));
}

/** Replaces the secrets of a text, and with `hasPersons` also what names a person: addresses and home folders. */
export function replaceSecrets(text: string, replacement: (secret: string) => string, hasPersons = false): string {
  let [clean, done] = ["", 0];
  for (const { start, end, type } of findSecrets(text)) {
    if (type === "person" && !hasPersons) continue;
    clean += text.slice(done, start) + replacement(text.slice(start, end));
    done = end;
  }
  return done === 0 ? text : clean + text.slice(done);
}

/**
 * Finds secrets by their form and by the names before them, in order. No span has a quote or a backslash, so that JSON
 * stays valid. A character is looked at a bounded number of times, whatever the text.
 */
export function findSecrets(text: string): readonly SecretSpan[] {
  const spans: SecretSpan[] = [];
  let at = 0;
  const add = (start: number, end: number, type: SecretSpan["type"] = "secret") => {
    if (end > start) spans.push({ start, end, type });
    at = Math.max(at, end);
  };
  /** Behind an escape a word begins, too. */
  let behindEscape = -1;
  for (; at < text.length; at++) {
    const start = at;
    const code = text.charCodeAt(at);
    if (has(code, WORD)) {
      if (at === 0 || at === behindEscape || !has(text.charCodeAt(at - 1), WORD)) findWord(text, at, add);
    } else if (code === COLON || code === EQUALS) {
      if (code === COLON && text.startsWith("//", at + 1)) findUrlPassword(text, at + 3, add);
      else findNamed(text, at, add);
    } else if (code === BACKSLASH) {
      behindEscape = escapeEnd(text, at);
      while (text.charCodeAt(at) === BACKSLASH) at++;
    } else if (code === BRACKET) behindEscape = colourEnd(text, at);
    else if (code === PERCENT) {
      behindEscape = at + 3;
      if (text.startsWith("%40", at)) findAddress(text, at, 3, spans, add);
    } else if (code === AT) findAddress(text, at, 1, spans, add);
    else if (code === TILDE) findAzure(text, at, spans, add);
    // Behind what was read, the next round begins.
    if (at > start) at--;
  }
  return spans;
}

type Add = (start: number, end: number, type?: SecretSpan["type"]) => void;

/** Of a word that begins here. */
function findWord(text: string, at: number, add: Add): void {
  const code = text.charCodeAt(at);
  for (const find of FINDERS.get(code) ?? []) {
    const end = find(text, at);
    if (end === -1) continue;
    add(at, end);
    return;
  }
  const before = text[at - 1];
  if ((code | 32) === 98 && isWord(text, at, "bearer")) {
    const start = skipSpaces(text, at + "bearer".length);
    const end = runEnd(text, start, VALUE);
    // The spaces are not looked at again.
    if (start > at + "bearer".length) add(end - start >= SHORTEST_VALUE ? start : end, end);
  } else if (code === 80 && text.startsWith(PRIVATE_KEY, at)) {
    const start = at + PRIVATE_KEY.length;
    let end = start;
    const last = Math.min(text.length, start + LONGEST_VALUE);
    while (end < last && isOfKey(text, end)) end++;
    for (const [from, to] of pieces(text, start, end)) add(from, to);
  } else if ((before === "/" || before === "\\") && (text.startsWith("home/", at) || text.startsWith("Users", at))) {
    let start = at + (code === 85 ? 5 : 4);
    while (text[start] === "\\" || text[start] === "/") start++;
    if (start > at + 4 && text[start - 1] !== "s") add(start, runEnd(text, start, ADDRESS), "person");
  }
}

/** Of a value whose name ends before this character, which assigns it. */
function findNamed(text: string, at: number, add: Add): void {
  let nameEnd = at;
  while (nameEnd > at - 3 && has(text.charCodeAt(nameEnd - 1), SPACE)) nameEnd--;
  const isQuoted = isQuote(text[nameEnd - 1]);
  if (isQuoted) nameEnd--;
  while (nameEnd > at - 10 && text[nameEnd - 1] === "\\") nameEnd--;
  let start = nameEnd;
  while (start > nameEnd - LONGEST_LOOK && has(text.charCodeAt(start - 1), NAME)) start--;
  const name = text.slice(start, nameEnd);
  if (!isSecretName(name)) return;
  const isHeader = /authorization$/i.test(name);
  const behind = skipSpaces(text, at + 1);
  let from = behind;
  while (text.charCodeAt(from) === BACKSLASH && from < behind + 7) from++;
  const quote = text[from];
  if (isQuote(quote)) {
    const start = isHeader ? behindScheme(text, from + 1) : from + 1;
    const end = quotedEnd(text, start, quote, from - behind);
    const type = isQuoted && text.charCodeAt(at) === COLON ? "member" : "secret";
    if (end - start >= SHORTEST_VALUE) for (const [first, last] of pieces(text, start, end)) add(first, last, type);
    return;
  }
  from = isHeader ? behindScheme(text, behind) : behind;
  const value = text.slice(from, runEnd(text, from, VALUE, from + LONGEST_LOOK));
  // A reference to another variable. A folder.
  if (value.length < SHORTEST_VALUE || value[0] === "$" || (/pwd$/i.test(name) && /^[/~.]|^\w:/.test(value))) return;
  // Behind a colon, or between spaces, words may be code, and digits alone a number.
  const mayBeCode = !isHeader && (text.charCodeAt(at) === COLON || behind > at + 1);
  if (mayBeCode && (!/\d/.test(value) || /^\d+$/.test(value))) return;
  const end = runEnd(text, from, VALUE);
  add(from, end);
  if (/cookie$/i.test(name)) findCookies(text, end, add);
}

/** Basic and the like, before the secret itself. */
function behindScheme(text: string, from: number): number {
  const end = runEnd(text, from, NAME, from + LONGEST_LOOK);
  const start = skipSpaces(text, end);
  return start === end ? from : start;
}

/** The other cookies of a header. */
function findCookies(text: string, at: number, add: Add): void {
  for (let end = at; text[end] === ";"; ) {
    const start = skipSpaces(text, end + 1);
    end = runEnd(text, start, VALUE);
    add(start, end);
  }
}

/** `user:PASSWORD@` of an address. */
function findUrlPassword(text: string, from: number, add: Add): void {
  let colon = -1;
  for (let end = from; end < text.length; end++) {
    const letter = text[end];
    if (letter === ":" && colon === -1) colon = end;
    if (letter === "@" && colon !== -1) add(colon + 1, end);
    if (/[@/?#\s"'\\]/.test(letter ?? "")) return;
  }
}

/** `ada@example.com`. */
function findAddress(text: string, at: number, length: number, spans: SecretSpan[], add: Add): void {
  const last = spans.at(-1)?.end ?? 0;
  let start = at;
  while (start > last && start > at - LONGEST_LOOK && has(text.charCodeAt(start - 1), ADDRESS)) start--;
  // In JSON, the letter of an escaped line break.
  if (text[start - 1] === "\\") start++;
  const host = /[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}/y;
  host.lastIndex = at + length;
  const end = start < at && host.test(text) ? host.lastIndex : at;
  if (end > at) add(start, end, "person");
}

/** A secret of an application of Azure. */
function findAzure(text: string, at: number, spans: SecretSpan[], add: Add): void {
  if (text[at - 1] !== "Q") return;
  const end = runEnd(text, at, TOKEN, at + LONGEST_LOOK);
  const start = at - "abc8Q".length;
  const isOne = /^[\w.~-]{3}\dQ$/.test(text.slice(Math.max(start, 0), at)) && end - at > 30;
  if (isOne && start >= (spans.at(-1)?.end ?? 0)) add(start, end);
}

function tokenEnd(text: string, at: number, prefix: string, isWord: boolean): number {
  if (!text.startsWith(prefix, at)) return -1;
  const from = at + prefix.length;
  const isPath = prefix.endsWith("/");
  const said = text.slice(from, runEnd(text, from, TOKEN, from + LONGEST_LOOK));
  if (said.length < (isPath ? SHORTEST_VALUE : SHORTEST_TOKEN)) return -1;
  if (isWord && !(/[A-Za-z\d]{16}/.test(said) && /\d/.test(said))) return -1;
  let end = runEnd(text, from, isPath || prefix === "ABSK" ? VALUE : TOKEN);
  while (text[end - 1] === ".") end--;
  return end;
}

function formEnd(form: RegExp): Find {
  return (text, at) => {
    form.lastIndex = at;
    return form.test(text) ? form.lastIndex : -1;
  };
}

/** What stands between escapes. */
function* pieces(text: string, from: number, end: number): Generator<readonly [number, number]> {
  const value = text.slice(from, end);
  let start = 0;
  for (let at = value.indexOf("\\"); at !== -1; at = value.indexOf("\\", start)) {
    yield [from + start, from + at];
    start = escapeEnd(value, at);
  }
  yield [from + start, end];
}

/** Returns where the text goes on behind the backslashes at a place, and the letter that they escape. */
function escapeEnd(text: string, at: number): number {
  let end = at;
  while (text.charCodeAt(end) === BACKSLASH) end++;
  if (text[end] === "u" && /^[\da-f]{4}$/i.test(text.slice(end + 1, end + 5))) return end + 5;
  return /[nrtbf"'`]/.test(text[end] ?? "") ? end + 1 : end;
}

/** Returns where a sequence that sets a colour ends. */
function colourEnd(text: string, at: number): number {
  let end = at + 1;
  while (end < at + 16 && (text[end] === ";" || isDigit(text.charCodeAt(end)))) end++;
  return text[end] === "m" ? end + 1 : -1;
}

/** Returns where a quoted value ends: at the quote that has as few backslashes as the first one. */
function quotedEnd(text: string, from: number, quote: string, slashes: number): number {
  const last = Math.min(text.length, from + LONGEST_VALUE);
  let before = 0;
  for (let end = from; end < last; end++) {
    const letter = text[end];
    if (letter === "\n" || (letter === quote && before <= slashes)) return end - (letter === quote ? before : 0);
    before = letter === "\\" ? before + 1 : 0;
  }
  return last;
}

/** A private key's own letters, its headers and line breaks. */
const isOfKey = (text: string, at: number): boolean =>
  /[\w+/=\s:,\\]/.test(text[at] ?? "") || (text[at] === "-" && !text.startsWith("-----", at));

function runEnd(text: string, from: number, kind: number, most = text.length): number {
  let end = from;
  const last = Math.min(most, text.length);
  while (end < last && has(text.charCodeAt(end), kind)) end++;
  return end;
}

/** `%20`, too. */
function skipSpaces(text: string, from: number): number {
  let at = from;
  for (;;) {
    if (has(text.charCodeAt(at), SPACE)) at++;
    else if (text.startsWith("%20", at)) at += 3;
    else return at;
  }
}

const has = (code: number, kind: number): boolean =>
  code < 256 ? ((CLASSES[code] ?? 0) & kind) !== 0 : kind === VALUE;

const isWord = (text: string, at: number, word: string): boolean =>
  text.slice(at, at + word.length).toLowerCase() === word;

const isQuote = (letter: string | undefined): letter is string => letter === '"' || letter === "'" || letter === "`";

const isDigit = (code: number): boolean => code >= 48 && code <= 57;
