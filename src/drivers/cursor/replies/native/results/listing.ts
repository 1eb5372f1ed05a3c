import { create } from "@bufbuild/protobuf";
import { type LsDirectoryTreeNode, LsDirectoryTreeNodeSchema } from "../../../../../gen/agent/v1/directory_tree_pb.ts";
import { isRemark } from "./file-list.ts";

/** Lines around a listing. */
const ASIDE =
  /^(?:(?:\.\.?\/?|---|total \d+|<\/?[\w-]+>|no files found\.?)$|directory listing for\b|listed \d+ |absolute path:|note: |<path>|<type>|(?:contents of|files in)\b.*:$|directory .* is empty\.?$)/s;
/** The text before a name: spaces, tree lines, bullets, and the kind. */
const BEFORE = /^((?:[\s│|]|[├└]─*|[`|]-+)*(?:[-*•]\s+)?)(\[dir\]\s*|\[file\]\s*|📁\s*|📄\s*)?/iu;

interface Open {
  readonly indent: number;
  readonly node: LsDirectoryTreeNode;
}

/** Parses a client's listing: one entry per line, directories end in `/`, nested ones are indented. */
export function listing(root: string, text: string): LsDirectoryTreeNode {
  const top = directory(root);
  top.childrenWereProcessed = true;
  const open: Open[] = [];
  for (const line of text.split(/\r?\n/)) {
    const [before = "", space = "", kind = ""] = BEFORE.exec(line) ?? [];
    const written = line.slice(before.length).trimEnd();
    const path = within(root, written);
    if (path === "" || ASIDE.test(written.toLowerCase()) || isRemark(written)) continue;
    while (open.length > 0 && (open.at(-1)?.indent ?? 0) >= space.length) open.pop();
    const parent = open.at(-1)?.node ?? top;
    parent.childrenWereProcessed = true;
    const name = path.replace(/\/$/, "");
    if (name !== path || /dir|📁/iu.test(kind)) {
      const node = directory(`${parent.absPath.replace(/\/$/, "")}/${name}`);
      parent.childrenDirs.push(node);
      open.push({ indent: space.length, node });
    } else {
      parent.childrenFiles.push({ $typeName: "agent.v1.LsDirectoryTreeNode.File", name });
      parent.numFiles++;
    }
  }
  return top;
}

const directory = (absPath: string): LsDirectoryTreeNode => create(LsDirectoryTreeNodeSchema, { absPath });

/** Returns the path relative to the root. Empty for the root itself. */
function within(root: string, path: string): string {
  const base = root.endsWith("/") ? root : `${root}/`;
  if (path === root || path === base) return "";
  return root !== "" && path.startsWith(base) ? path.slice(base.length) : path;
}
