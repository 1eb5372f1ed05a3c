import type { MessageInitShape } from "@bufbuild/protobuf";
import type { DiagnosticSchema, DiagnosticsArgs } from "../../../../gen/agent/v1/exec_diagnostics_pb.ts";
import { DiagnosticSeverity } from "../../../../gen/agent/v1/exec_diagnostics_pb.ts";
import { PATH } from "./path-names.ts";
import { failureOf, saysMissing } from "./results/failure.ts";
import { plainText } from "./results/reminders.ts";
import type { Route } from "./route.ts";

/** Editors have a tool for diagnostics; most terminal clients do not. */
export const DIAGNOSTICS: readonly Route<DiagnosticsArgs>[] = [
  {
    tools: ["read_lints", "diagnostics", "get_diagnostics", "lsp_diagnostics", "get_errors", "get_problems"],
    args: ({ path }) => [
      ...(path === "" ? [] : [{ names: PATH, value: path, use: "needed" } as const]),
      { names: ["explanation", "description"], value: `Look for problems in ${path}`, use: "filler" },
    ],
    results: ({ path }, said) => {
      const error = said.isError ? failureOf(said) : undefined;
      if (error !== undefined) {
        return saysMissing(error)
          ? [{ case: "diagnosticsResult", value: { result: { case: "fileNotFound", value: { path } } } }]
          : [{ case: "diagnosticsResult", value: { result: { case: "error", value: { path, error } } } }];
      }
      const diagnostics = plainText(said)
        .split(/\r?\n/)
        .filter((line) => line.trim() !== "" && !ASIDE.test(line.trim().toLowerCase()))
        .map(diagnostic);
      const value = { path, diagnostics, totalDiagnostics: diagnostics.length };
      return [{ case: "diagnosticsResult", value: { result: { case: "success", value } } }];
    },
  },
];

const ASIDE = /^(?:no\b.*\b(?:diagnostics|errors|problems|lints?|issues)\b|(?:<\/?[\w-]+>|none\.?)$|found \d+ )/s;

/** `path:12:5: error: text`, `ERROR [12:5] text`, `Line 12: text`. */
const FORMS = [
  /:(?<line>\d+)(?::(?<column>\d+))?:?\s(?:\s*-\s)?/,
  /^\W*(?:\w+\s+)?\[(?<line>\d+):(?<column>\d+)\]:?/,
  /^\W*(?:line|l) ?(?<line>\d+)(?:[:,] ?(?:col(?:umn)? )?(?<column>\d+))?:/i,
];

/** Parses one line as one problem. A line of unknown format becomes the message. */
function diagnostic(line: string): MessageInitShape<typeof DiagnosticSchema> {
  const place = FORMS.map((form) => form.exec(line)).find((found) => found !== null);
  const at = { line: bounded(place?.groups?.["line"]), column: bounded(place?.groups?.["column"]) };
  return {
    message: (place ? line.slice(place.index + place[0].length).trim() : "") || line.trim(),
    severity: severityOf(line),
    ...(place ? { range: { start: at, end: at } } : {}),
  };
}

function severityOf(line: string): DiagnosticSeverity {
  const word = /\b(error|warn(?:ing)?|info(?:rmation)?|hint)\b/i.exec(line)?.[1]?.toLowerCase() ?? "";
  if (word.startsWith("warn")) return DiagnosticSeverity.WARNING;
  if (word.startsWith("info")) return DiagnosticSeverity.INFORMATION;
  return word === "hint" ? DiagnosticSeverity.HINT : DiagnosticSeverity.ERROR;
}

const bounded = (digits: string | undefined): number => Math.min(Number(digits ?? 0), 2 ** 31 - 1);
