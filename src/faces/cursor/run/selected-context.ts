import type { SelectedContext } from "../../../gen/agent/v1/selected_context_pb.ts";

/** Returns what the user attached to a message, beside files and images, as text. */
export function selectedText(context: SelectedContext | undefined): string {
  if (!context) return "";
  const blocks = [
    ...context.codeSelections.map(({ content, path, relativePath, range }) =>
      block(
        "selection",
        relativePath || path,
        content,
        range?.start && `lines ${range.start.line}-${range.end?.line ?? range.start.line}`,
      ),
    ),
    ...context.terminals.map(({ content, title }) => block("terminal", title ?? "", content)),
    ...context.terminalSelections.map(({ content, title }) => block("terminal", title ?? "", content)),
    ...context.folders.map(({ path, relativePath }) => `Attached folder: ${relativePath || path}`),
    ...context.externalLinks.map(({ url, pdfContent }) =>
      pdfContent ? block("link", url, pdfContent) : `Attached link: ${url}`,
    ),
    ...context.cursorRules.map(({ rule }) => block("rule", rule?.fullPath ?? "", rule?.content ?? "")),
    ...context.cursorCommands.map(({ name, content }) => block("command", name, content)),
    ...context.consoleLogs.map(({ level, message }) => block("console", level, message)),
    ...context.gitCommits.map(({ sha, message, diff }) => block("commit", sha, `${message}\n${diff}`)),
    ...[context.gitDiff, context.gitDiffFromBranchToMain].flatMap((diff) =>
      diff ? [block("diff", "", diff.content)] : [],
    ),
    ...context.extraContext,
    ...context.extraContextEntries.flatMap(({ dataOrBlobId }) =>
      dataOrBlobId.case === "data" ? [dataOrBlobId.value] : [],
    ),
  ];
  return blocks.join("\n\n");
}

function block(tag: string, name: string, content: string, note?: string): string {
  const title = [name, note].filter(Boolean).join(", ");
  return `<${tag}${title === "" ? "" : ` name=${JSON.stringify(title)}`}>\n${content}\n</${tag}>`;
}
