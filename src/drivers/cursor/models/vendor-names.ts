/** What stands before or behind a name when it comes from another catalogue: a vendor, a date, `latest`. */
const VENDOR = /^(?:anthropic|openai|google|xai|x-ai|cursor)\//;
const RELEASE = /[-@](?:20\d{6}|20\d\d-\d\d-\d\d|latest)$/;

/**
 * What a name says apart from how it is put: clients call `claude-sonnet-4-5-20250929` what Cursor calls
 * `claude-4.5-sonnet`. The words in any order, the version in its own.
 */
export function partsOfName(name: string): string {
  const parts = withoutRelease(name).split(/[-._]/);
  const isNumber = (part: string) => /^\d+$/.test(part);
  const words = parts.filter((part) => !isNumber(part)).toSorted();
  return `${words.join(" ")} ${parts.filter(isNumber).join(".")}`;
}

export const withoutRelease = (name: string): string => name.replace(VENDOR, "").replace(RELEASE, "");
