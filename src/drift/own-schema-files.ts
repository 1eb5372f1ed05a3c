import { readdir } from "node:fs/promises";
import type { DescFile } from "@bufbuild/protobuf";

const FOLDERS = ["agent/v1", "aiserver/v1"];

/** Loads every generated file of our schema. */
export async function loadOwnFiles(): Promise<readonly DescFile[]> {
  const folders = await Promise.all(
    FOLDERS.map(async (folder) => {
      const url = new URL(`../gen/${folder}/`, import.meta.url);
      const names = (await readdir(url)).filter((name) => /_pb\.[jt]s$/.test(name));
      return Promise.all(names.map((name) => import(new URL(name, url).href) as Promise<Record<string, unknown>>));
    }),
  );
  return folders.flat().flatMap((module) => Object.values(module).filter(isFile));
}

const isFile = (value: unknown): value is DescFile =>
  typeof value === "object" && value !== null && "kind" in value && value.kind === "file";
