import type { Secret } from "../../core/secret.ts";
import type { Log } from "../../observe/log.ts";
import { Exporter, type ExportStats } from "../../traces/exporter.ts";
import { readExporterSettings } from "../../traces/exporter-settings.ts";
import { NAMES } from "../../traces/names.ts";
import { writeAttributes } from "../../traces/otlp.ts";
import { Tracer } from "../../traces/tracer.ts";

export interface OpenTraces {
  readonly tracer: Tracer;
  stats(): ExportStats;
  /** Sends the last spans. */
  close(): Promise<void>;
}

interface TraceOptions {
  readonly log: Log;
  readonly onSecret: (secret: Secret) => void;
}

/** Opens traces if OpenTelemetry's variables name a collector. */
export function openTraces(
  environment: Readonly<Record<string, string | undefined>>,
  { log, onSecret }: TraceOptions,
): OpenTraces | undefined {
  const settings = readExporterSettings(environment, (text) => log.warn({}, text));
  if (!settings) return undefined;
  const { url, headers, serviceName, wantsContent } = settings;
  for (const value of Object.values(headers)) onSecret(value);
  if (wantsContent) log.warn({}, "Traces hold the content of messages and answers, as the environment asks for it.");
  const exporter = new Exporter({
    url,
    headers,
    resource: writeAttributes({ [NAMES.serviceName]: serviceName }),
    onTrouble: (text) => log.warn({}, text),
  });
  return {
    tracer: new Tracer(exporter, { wantsContent }),
    stats: () => exporter.stats(),
    close: () => exporter.close(),
  };
}
