/** One sample of a page in Prometheus' text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = `[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"`;
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)?\\})? (\\S+)$`);
const HEAD = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`);

/** Parses a page strictly: throws for any line that is none of the format, and for a sample without HELP and TYPE. */
export function readMetrics(text: string): readonly Sample[] {
  const heads = new Set<string>();
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, keyword, family = ""] = HEAD.exec(line) ?? [];
    if (keyword) {
      heads.add(`${keyword} ${family}`);
      continue;
    }
    const [, name, labels = "", value] = SAMPLE.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`no line of the format: ${line}`);
    const described = [name, name.replace(/_(?:bucket|sum|count)$/, "")].find((one) => heads.has(`TYPE ${one}`));
    if (described === undefined || !heads.has(`HELP ${described}`)) throw new Error(`no HELP or TYPE for ${name}`);
    samples.push({ name, labels: readLabels(labels), value: value === "NaN" ? Number.NaN : Number(value) });
  }
  return samples;
}

const readLabels = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = "", value = ""]) => [
      name,
      value.replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped)),
    ]),
  );

/** The value of the one sample with this name and these labels. */
export function sampleOf(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}) {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  if (found.length > 1) throw new Error(`${found.length} samples of ${name}`);
  return found[0]?.value;
}
