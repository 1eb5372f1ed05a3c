/** Prefixes and suffixes of other vendors' model names: a vendor, a date, `latest`. */
const VENDOR = /^(?:anthropic|openai|google|xai|x-ai|cursor)\//;
const RELEASE = /[-@](?:20\d{6}|20\d\d-\d\d-\d\d|latest)$/;

/**
 * Returns a key that ignores the order of words: clients use `claude-sonnet-4-5-20250929` for Cursor's
 * `claude-4.5-sonnet`. The version keeps its order.
 */
export function partsOfName(name: string): string {
  const parts = withoutRelease(name).split(/[-._]/);
  const isNumber = (part: string) => /^\d+$/.test(part);
  const words = parts.filter((part) => !isNumber(part)).toSorted();
  return `${words.join(" ")} ${parts.filter(isNumber).join(".")}`;
}

export const withoutRelease = (name: string): string => name.replace(VENDOR, "").replace(RELEASE, "");
