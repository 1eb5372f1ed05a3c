import { MaskedCapture } from "../../capture/masked-capture.ts";
import type { DriftReply } from "../../dashboard/captured-messages.ts";
import { isConflict } from "../../drift/compare-schemas.ts";
import { readTraffic } from "../../drift/read-traffic.ts";
import type { Capture } from "../capture/open-capture.ts";

/** Takes a second or two. `excursor drift` reads all. */
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_ROWS = 100;
const MAX_TEXT = 200;

/** Compares the capture of the running gateway with our schema. */
export async function captureDrift(capture: Capture): Promise<DriftReply> {
  const masked = new MaskedCapture(capture.file, capture.createMasker());
  const { differences, read, isCut } = await readTraffic(masked, MAX_BYTES);
  const rows = differences.map((found) => ({
    what: found.what,
    owner: found.owner.slice(0, MAX_TEXT),
    name: found.name.slice(0, MAX_TEXT),
    count: found.count,
    example: found.example.slice(0, MAX_TEXT),
    isConflict: isConflict(found),
  }));
  return {
    at: Date.now(),
    ...read,
    differences: rows.toSorted((a, b) => Number(b.isConflict) - Number(a.isConflict)).slice(0, MAX_ROWS),
    found: rows.length,
    conflicts: rows.filter((row) => row.isConflict).length,
    isCut,
  };
}
