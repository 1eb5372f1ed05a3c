import { isUtf8 } from "node:buffer";
import type {
  ExtraContextEntry,
  SelectedContext,
  SelectedDocument,
} from "../../../gen/agent/v1/selected_context_pb.ts";
import { type BlobSource, needBlob } from "../../../wire/agent/state/blobs.ts";
import { attachedBytes } from "../../../wire/agent/state/user-message.ts";

/** Returns what the user attached to a message, beside files and images, as text. Some of it may be in blobs. */
export async function selectedText(context: SelectedContext | undefined, blobs: BlobSource): Promise<string> {
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
    ...(await Promise.all(
      context.extraContextEntries.map((entry, index) => entryText(entry, `extra_context_entries[${index}]`, blobs)),
    )),
    ...(await Promise.all(
      context.selectedDocuments.map((document, index) => documentText(document, `selected_documents[${index}]`, blobs)),
    )),
    ...context.selectedVideos.map(({ filename, path }) =>
      leftOut("video", filename || path, "it cannot be shown here"),
    ),
  ];
  return blocks.join("\n\n");
}

async function entryText({ dataOrBlobId }: ExtraContextEntry, field: string, blobs: BlobSource): Promise<string> {
  if (dataOrBlobId.case !== "blobId") return dataOrBlobId.value ?? "";
  const blob = await needBlob(dataOrBlobId.value, `user_message.selected_context.${field}.blob_id`, blobs);
  return Buffer.from(blob).toString("utf8");
}

async function documentText(
  { filename, path, dataOrBlobId }: SelectedDocument,
  field: string,
  blobs: BlobSource,
): Promise<string> {
  const bytes = Buffer.from(await attachedBytes(dataOrBlobId, `user_message.selected_context.${field}.blob_id`, blobs));
  const isText = isUtf8(bytes) && !bytes.includes(0) && !bytes.subarray(0, 5).equals(PDF);
  return isText
    ? block("document", filename || path, bytes.toString("utf8"))
    : leftOut("document", path || filename, "it is not text");
}

const PDF = Buffer.from("%PDF-");

const leftOut = (kind: string, name: string, reason: string): string =>
  `Attached ${kind}: ${name}. It was left out, because ${reason}.`;

function block(tag: string, name: string, content: string, note?: string): string {
  const title = [name, note].filter(Boolean).join(", ");
  return `<${tag}${title === "" ? "" : ` name=${JSON.stringify(title)}`}>\n${content}\n</${tag}>`;
}
