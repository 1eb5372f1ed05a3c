import type { CaptureTail } from "../capture-reader.ts";

/** Returns a sentence about a capture that has no proper end; undefined if it has one. */
export function describeTail(file: string, { type, offset }: CaptureTail): string | undefined {
  if (type === "cut") {
    return `${file} ends in the middle of a record, after byte ${offset}: its writer was stopped, or the disk was full.`;
  }
  return type === "damaged" ? `${file} is damaged after byte ${offset}; the rest cannot be read.` : undefined;
}
