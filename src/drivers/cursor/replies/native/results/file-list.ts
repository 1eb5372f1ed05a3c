export interface FileList {
  readonly files: string[];
  readonly isTruncated: boolean;
}

/** Lines around a list of files: counts, "none", "more". */
export const ASIDE =
  /^(?:-{2,3}|found \d+ .*|no (?:files|matches|results|matching)\b.*|\(.* .*\)|\[.*truncated.*\]|showing \d+.*|<\/?[\w-]+>|.*sorted by modification time.*:)$/i;

export function fileList(text: string): FileList {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  return {
    files: lines.filter((line) => line !== "" && !ASIDE.test(line)).map((line) => line.replace(/^[-*•] /, "")),
    isTruncated: lines.some((line) => ASIDE.test(line) && /truncat|\bmore\b/i.test(line)),
  };
}
