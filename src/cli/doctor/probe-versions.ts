import type { NamedFinding } from "./examine.ts";

/** What the backend says by itself about client versions. Empty texts: nothing. */
interface VersionStatus {
  readonly minAllowed: string;
  readonly minSupported: string;
  readonly current: string;
}

export interface VersionProbe {
  /** The version that the gateway sends. */
  readonly configured: string;
  /** Versions of Cursor's own CLI on this machine. */
  readonly installed: readonly string[];
  /** One call. Undefined if the backend says nothing. */
  readonly askStatus: () => Promise<VersionStatus | undefined>;
  /** One call. True if the backend takes this version. Throws if it fails for another reason. */
  readonly ask: (version: string) => Promise<boolean>;
}

/** The probe makes no more calls than this. */
const MAX_CALLS = 5;

/** Versions of Cursor's CLI that were published, oldest first. */
const PUBLISHED: readonly string[] = [
  "cli-2025.11.25-d5b3271",
  "cli-2026.01.09-231024f",
  "cli-2026.01.17-d239e66",
  "cli-2026.02.13-41ac335",
  "cli-2026.05.01-eea359f",
  "cli-2026.07.08-0c04a8a",
  "cli-2026.07.23-e383d2b",
];

/**
 * Finds out which client versions the backend takes, with at most {@link MAX_CALLS} calls, one after another. If it takes
 * the configured one, it looks for the oldest that it takes; else for one that it takes at all.
 */
export async function probeVersions(probe: VersionProbe): Promise<readonly NamedFinding[]> {
  const { configured } = probe;
  const findings: NamedFinding[] = [];
  const add = (id: string, status: NamedFinding["status"], text: string, fix?: string) =>
    findings.push({ id, status, text, fix });
  let calls = 0;
  const ask = async (version: string): Promise<boolean> => {
    calls++;
    const isTaken = await probe.ask(version);
    const isOwn = version === configured;
    add(`version/${version}`, isTaken ? "ok" : isOwn ? "fail" : "skip", isTaken ? "Accepted." : "Refused.");
    return isTaken;
  };
  calls++;
  const status = await probe.askStatus();
  const isFine = await ask(configured);
  const words = status && wordsOf(status);
  if (words !== undefined) add("version/words", "ok", words);
  if (isFine) {
    const oldest = status?.minAllowed ? undefined : await findOldest();
    const older = oldest === undefined ? "" : ` The oldest published one that it takes is ${oldest}.`;
    add("version", "ok", `The backend takes ${configured}.${older} ${count()}`);
    return findings;
  }
  const newer = await findNewer(status);
  if (newer === undefined) {
    add(
      "version",
      "fail",
      `The backend takes none of the versions that were tried. ${count()}`,
      "Its refusal may be about the account, not the version. Install Cursor's CLI, and set clientVersion to its version.",
    );
  } else {
    const fix = `Set it: EXCURSOR_CLIENT_VERSION=${newer}, or clientVersion in config.json.`;
    add("version", "fail", `The backend refuses ${configured} and takes ${newer}. ${count()}`, fix);
  }
  return findings;

  function count(): string {
    return `(${calls} calls)`;
  }

  /** Halves the published versions that are older. */
  async function findOldest(): Promise<string> {
    const older = PUBLISHED.filter((version) => isOlder(version, configured));
    let [low, high] = [0, older.length];
    while (low < high && calls < MAX_CALLS) {
      const middle = (low + high) >> 1;
      if (await ask(older[middle] ?? configured)) high = middle;
      else low = middle + 1;
    }
    return older[high] ?? configured;
  }

  async function findNewer(known: VersionStatus | undefined): Promise<string | undefined> {
    const all = [known?.current ?? "", known?.minAllowed ?? "", ...probe.installed, ...PUBLISHED];
    const newer = [...new Set(all)].filter((version) => version.startsWith("cli-") && isOlder(configured, version));
    for (const version of newer.toSorted((a, b) => (isOlder(a, b) ? 1 : -1))) {
      if (calls >= MAX_CALLS) return undefined;
      if (await ask(version)) return version;
    }
    return undefined;
  }
}

/** By date. Versions of another kind of client are neither older nor newer. */
const isOlder = (version: string, than: string): boolean =>
  version.startsWith("cli-") === than.startsWith("cli-") && version < than;

function wordsOf({ minAllowed, minSupported, current }: VersionStatus): string | undefined {
  const parts = [
    ...(minAllowed ? [`takes ${minAllowed} and newer`] : []),
    ...(minSupported ? [`supports ${minSupported} and newer`] : []),
    ...(current ? [`says that ${current} is the current one`] : []),
  ];
  return parts.length === 0 ? undefined : `The backend ${parts.join(", ")}.`;
}
