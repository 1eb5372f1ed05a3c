import type { AnyNode, ObjectExpression, Property } from "acorn";
import { parseExpressionAt } from "acorn";
import { ExcursorError } from "../../core/errors.ts";
import { isJsonObject } from "../../core/json/is-json-object.ts";

export interface Product {
  /** The file's text. Only hashes in it are ever replaced. */
  readonly text: string;
  readonly name: string;
  readonly version: string;
  /** Empty if the build has none. */
  readonly commit: string;
  /** By the file's name below `out`; empty if nothing is checked. */
  readonly checksums: ReadonlyMap<string, string>;
}

const MAX_SHOWN = 80;
const MAX_CHECKSUMS = 1000;

export function readProduct(bytes: Buffer): Product {
  const text = bytes.toString("utf8");
  if (!Buffer.from(text).equals(bytes)) throw broken("it is not UTF-8");
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw broken("it is not JSON", error);
  }
  if (!isJsonObject(json)) throw broken("it is not an object");
  const { nameLong, nameShort, version, commit, checksums } = json as Record<string, unknown>;
  if (typeof version !== "string" || version === "") throw broken("it has no version");
  return {
    text,
    name: shown(nameShort ?? nameLong ?? ""),
    version: shown(version),
    commit: shown(commit ?? ""),
    checksums: readChecksums(checksums),
  };
}

function readChecksums(checksums: unknown): ReadonlyMap<string, string> {
  if (checksums === undefined || checksums === null) return new Map();
  if (typeof checksums !== "object" || Array.isArray(checksums)) throw broken("its checksums are not an object");
  const entries = Object.entries(checksums);
  if (entries.length > MAX_CHECKSUMS) throw broken("it has too many checksums");
  for (const [key, value] of entries) {
    if (typeof value !== "string") throw broken(`the checksum of ${shown(key)} is not a string`);
    const parts = key.split("/");
    if (key.includes("\\") || key.includes("\0") || parts.some((part) => ["", ".", ".."].includes(part))) {
      throw broken(`it has a checksum for ${shown(key)}, which is not a file of the app`);
    }
  }
  return new Map(entries as [string, string][]);
}

/** Returns the text with other hashes in the same places. Order, spaces and everything else stay. */
export function replaceChecksums(product: Product, fresh: ReadonlyMap<string, string>): string {
  if (fresh.size === 0) return product.text;
  const root = parseExpressionAt(product.text, 0, { ecmaVersion: "latest" });
  const table = findValue(root, "checksums");
  const places = [...fresh].map(([key, hash]) => ({ node: findValue(table, key), hash }));
  let text = product.text;
  for (const { node, hash } of places.sort((one, other) => other.node.start - one.node.start)) {
    text = text.slice(0, node.start) + JSON.stringify(hash) + text.slice(node.end);
  }
  return text;
}

function findValue(node: AnyNode, key: string): AnyNode {
  const properties = node.type === "ObjectExpression" ? propertiesOf(node, key) : [];
  const [property, second] = properties;
  if (!property || second) throw broken(`it names ${shown(key)} ${second ? "twice" : "in an unknown way"}`);
  return property.value;
}

const propertiesOf = (node: ObjectExpression, key: string): readonly Property[] =>
  node.properties.filter(
    (property): property is Property =>
      property.type === "Property" && property.key.type === "Literal" && property.key.value === key,
  );

const shown = (value: unknown): string =>
  String(value)
    .replace(/\p{Cc}/gu, "")
    .slice(0, MAX_SHOWN);

function broken(why: string, cause?: unknown): ExcursorError {
  return new ExcursorError("ide_bad_product", [why], { cause });
}
