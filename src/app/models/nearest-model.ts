/**
 * Returns the model that is closest to a public name such as `gpt-4o` or `claude-3-5-sonnet-20241022`. It is of the same
 * family; then the nearest size, the same specialities and the nearest version decide, in this order.
 *
 * Returns undefined if the name is not a vendor's, or newer than all models of the family. Every part of a name must be
 * known: `gpt-5-banana` is not a vendor's name.
 */
export function nearestModel(name: string, models: readonly string[]): string | undefined {
  const wanted = readPublicName(name);
  if (!wanted) return undefined;
  const family = models
    .map((id) => ({ id, traits: readParts(id.toLowerCase()) }))
    .filter(({ traits }) => traits.family === wanted.family);
  // The account has no model of the family: Cursor chooses.
  if (family.length === 0) return models.find((id) => id === "auto");
  const newest = Math.max(...family.map(({ traits }) => traits.version ?? 0));
  if (wanted.version !== undefined && wanted.version > newest) return undefined;
  const [best] = family
    .map(({ id, traits }) => ({ id, distance: distance(wanted, traits) }))
    .sort((a, b) => compare(a.distance, b.distance));
  return best?.id;
}

export const isPublicName = (name: string): boolean => readPublicName(name) !== undefined;

interface Traits {
  readonly family: string | undefined;
  readonly size: number;
  readonly version: number | undefined;
  /** Other parts of the name, such as `codex`. */
  readonly words: ReadonlySet<string>;
}

const FAMILIES: ReadonlyMap<string, string> = new Map([
  ["gpt", "gpt"],
  ["chatgpt", "gpt"],
  ["claude", "claude"],
  ["gemini", "gemini"],
  ["grok", "grok"],
  ["composer", "composer"],
]);

const USUAL_SIZE = 2;
const SIZES: ReadonlyMap<string, number> = new Map([
  ["nano", 0],
  ["lite", 0],
  ["mini", 1],
  ["haiku", 1],
  ["instant", 1],
  ["flash", 1],
  ["sonnet", USUAL_SIZE],
  ["opus", 3],
  ["pro", 3],
]);

/** Other parts that names of vendors may have. */
const SPECIALITIES = new Set(["codex", "code", "fast", "max"]);

/** Parts of public names that do not matter here. */
const NOISE = /^(?:turbo|preview|chat|latest|vision|instruct|exp|experimental|beta|thinking|v\d|\d+k|\d{3,4})$/;

/** Prefixes of vendors and clouds, and suffixes of releases. */
const VENDOR = /^(?:(?:us|eu|apac)\.)?(?:anthropic|openai|google|xai|x-ai)[./]|^models\//;
const RELEASE = /(?:[-@](?:20\d{6}|20\d\d-\d\d-\d\d|\d\d-\d\d|latest))?(?:-v\d+(?::\d+)?)?$/;

/** Suffixes by which a client asks for an effort. */
const PARAMETERS = /\[[^[\]]*\]$|[-:](?:none|minimal|low|medium|high|xhigh)$/;
const DATE = /[-@]20\d{6}(?=-)/;

const MAX_NAME_LENGTH = 100;

function readPublicName(name: string): Traits | undefined {
  if (name.length > MAX_NAME_LENGTH) return undefined;
  const bare = name
    .trim()
    .toLowerCase()
    .replace(VENDOR, "")
    .replace(PARAMETERS, "")
    .replace(DATE, "")
    .replace(RELEASE, "");
  // Names of OpenAI's o-series have no family, and their numbers are not versions of GPT.
  const series = /^o[134](?=-|$)/.exec(bare)?.[0];
  const traits = readParts(series === undefined ? bare : `gpt${bare.slice(series.length)}`);
  if (!traits.family || [...traits.words].some((word) => !SPECIALITIES.has(word))) return undefined;
  // `gpt` needs a version; `claude` and `gemini-pro` do not.
  if (traits.family === "gpt" && traits.version === undefined && series === undefined) return undefined;
  return traits;
}

function readParts(name: string): Traits {
  const [first = "", ...parts] = name.split(/[-_.]/).filter((part) => !NOISE.test(part));
  const numbers = parts.map((part) => /^(\d{1,2})o?$/.exec(part)?.[1]).filter((digits) => digits !== undefined);
  const words = parts.filter((part) => !/^\d{1,2}o?$/.test(part));
  const [major, minor = "0"] = numbers;
  const version = major === undefined ? undefined : versionOf(major, minor);
  const family = FAMILIES.get(first);
  const sizes = words.map((word) => SIZES.get(word)).filter((size) => size !== undefined);
  // GPT-3 models have no size in their names, and are small.
  const usual = family === "gpt" && version !== undefined && version < 4 ? 1 : USUAL_SIZE;
  return {
    family,
    size: sizes.length === 0 ? usual : Math.min(...sizes),
    version,
    words: new Set(words.filter((word) => !SIZES.has(word))),
  };
}

/** 4.10 is newer than 4.8. Azure writes 3.5 as 35. */
const versionOf = (major: string, minor: string): number =>
  major === "35" ? versionOf("3", "5") : Number(major) + Number(minor) / 100;

const lacking = (words: ReadonlySet<string>, others: ReadonlySet<string>): number =>
  [...words].filter((word) => !others.has(word)).length;

/** Returns distances to be compared in order. */
function distance(wanted: Traits, found: Traits): readonly number[] {
  const [from, to] = [wanted.version ?? Number.POSITIVE_INFINITY, found.version ?? 0];
  return [
    Math.abs(wanted.size - found.size),
    lacking(wanted.words, found.words) + lacking(found.words, wanted.words),
    // A name without a version means the newest.
    from === Number.POSITIVE_INFINITY ? 0 : Math.abs(from - to),
    -to,
  ];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((figure, index) => figure !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}
