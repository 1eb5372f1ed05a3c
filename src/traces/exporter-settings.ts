import { Secret } from "../core/secret.ts";

/** Where spans go, by OpenTelemetry's own variables. */
export interface ExporterSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, Secret>>;
  readonly serviceName: string;
  /** Whether spans hold what was said. */
  readonly wantsContent: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads OpenTelemetry's variables. Undefined without an endpoint, and where they turn traces off. What cannot be used is
 * told to `onProblem`: these variables may be meant for other programs, so they do not stop the gateway.
 */
export function readExporterSettings(
  environment: Environment,
  onProblem: (text: string) => void,
): ExporterSettings | undefined {
  const url = endpointOf(environment);
  if (url === undefined || isOff(environment)) return undefined;
  if (!isHttp(url)) {
    onProblem("No traces: OTEL_EXPORTER_OTLP_ENDPOINT is no http or https URL.");
    return undefined;
  }
  const protocol = environment["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] || environment["OTEL_EXPORTER_OTLP_PROTOCOL"];
  if (protocol === "grpc") {
    onProblem("Traces are sent as OTLP over HTTP with JSON: the endpoint must take that, whose port is usually 4318.");
  }
  const headers = environment["OTEL_EXPORTER_OTLP_TRACES_HEADERS"] || environment["OTEL_EXPORTER_OTLP_HEADERS"];
  return {
    url,
    headers: readHeaders(headers ?? "", onProblem),
    serviceName: environment["OTEL_SERVICE_NAME"] || "excursor",
    wantsContent: readContent(environment[CONTENT] ?? "", onProblem),
  };
}

const CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

function readContent(text: string, onProblem: (text: string) => void): boolean {
  const value = text.trim().toLowerCase();
  if (value !== "" && value !== "true" && value !== "false")
    onProblem(`Spans hold no content: ${CONTENT} must be true for that.`);
  return value === "true";
}

/** The one for traces is taken as it is; to the general one the path is added. */
function endpointOf(environment: Environment): string | undefined {
  const general = environment["OTEL_EXPORTER_OTLP_ENDPOINT"];
  const own = environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
  return own || (general ? `${general.replace(/\/{1,9}$/, "")}/v1/traces` : undefined);
}

const isOff = (environment: Environment): boolean =>
  environment["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || environment["OTEL_TRACES_EXPORTER"] === "none";

function isHttp(url: string): boolean {
  const protocol = URL.canParse(url) ? new URL(url).protocol : "";
  return protocol === "http:" || protocol === "https:";
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\x20-\x7e]*$/;

/** `name=value,name=value`, with values percent-encoded. */
function readHeaders(text: string, onProblem: (text: string) => void): Readonly<Record<string, Secret>> {
  const headers: Record<string, Secret> = {};
  for (const pair of text.split(",").filter((one) => one.trim() !== "")) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(at, 0)).trim();
    const value = decode(pair.slice(at + 1).trim());
    if (NAME.test(name) && value !== undefined && VALUE.test(value)) headers[name] = new Secret(value);
    else
      onProblem(
        "An entry of OTEL_EXPORTER_OTLP_HEADERS is left out: expected name=value, with values percent-encoded.",
      );
  }
  return headers;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
