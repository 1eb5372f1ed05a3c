import { Masker } from "../../../src/capture/mask/masker.ts";
import { MaskedCapture } from "../../../src/capture/masked-capture.ts";
import type { CaptureRecord } from "../../../src/capture/records.ts";

export const openMasked = (file: string, secrets: readonly string[] = []): MaskedCapture =>
  new MaskedCapture(file, new Masker(secrets));

/** Returns the records of a capture as whoever shows it gets them. */
export async function maskedRecords(capture: MaskedCapture): Promise<CaptureRecord[]> {
  await capture.learn();
  const records: CaptureRecord[] = [];
  for await (const stored of capture.read()) {
    const record = stored.read();
    if (record) records.push(record.type === "message" ? { ...record, bytes: Buffer.from(record.bytes) } : record);
  }
  return records;
}

/** Returns the bytes of a capture as a report has them. */
export const maskedBytes = async (capture: MaskedCapture): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(capture.bytes(Number.POSITIVE_INFINITY)));
