export interface FileList {
  readonly files: string[];
  readonly isTruncated: boolean;
}

const ASIDE = /^(?:-{2,3}$|found \d+ |no (?:files|matches|results|matching)\b|showing \d+|<\/?[\w-]+>$)/;

/** True for a line around a list of files: counts, "none", "more". */
export function isAside(line: string): boolean {
  const said = line.toLowerCase();
  return (
    ASIDE.test(said) ||
    isRemark(said) ||
    (said.startsWith("[") && said.endsWith("]") && said.includes("truncated")) ||
    (said.endsWith(":") && said.includes("sorted by modification time"))
  );
}

/** True for words in parentheses. */
export const isRemark = (line: string): boolean => line.startsWith("(") && line.endsWith(")") && line.includes(" ");

export function fileList(text: string): FileList {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  return {
    files: lines.filter((line) => line !== "" && !isAside(line)).map((line) => line.replace(/^[-*•] /, "")),
    isTruncated: lines.some((line) => isAside(line) && /truncat|\bmore\b/i.test(line)),
  };
}
