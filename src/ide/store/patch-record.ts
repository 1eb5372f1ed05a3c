import { z } from "zod";
import { ExcursorError } from "../../core/errors.ts";
import { BUNDLES, PRODUCT } from "../app/app-file.ts";
import { type Digest, digestOf } from "../app/digest.ts";

/** Of records and journals. */
const FORMAT = 1;

const digest = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .transform((text) => text as Digest);
const path = z.enum([...BUNDLES, PRODUCT]);

const recordSchema = z.object({
  format: z.literal(FORMAT),
  /** The real path of `resources/app`. */
  root: z.string(),
  version: z.string(),
  commit: z.string(),
  patchId: z.string(),
  patchedAt: z.string(),
  backupSet: z.string().regex(/^[\w.-]+$/),
  /** The app was signed again, which a restore cannot undo. */
  isResigned: z.boolean(),
  files: z.array(z.object({ path, before: digest, after: digest })),
});

/** What was written into an app, and what it replaced. */
export type PatchRecord = Readonly<z.infer<typeof recordSchema>>;

const journalSchema = z.object({
  format: z.literal(FORMAT),
  kind: z.enum(["patch", "restore"]),
  root: z.string(),
  backupSet: z.string().regex(/^[\w.-]+$/),
  /** In the order in which they change. `temporary` is a name in the file's own folder. */
  files: z.array(z.object({ path, temporary: z.string().regex(/^[\w.-]+$/), before: digest, after: digest })),
  /** The app's record after this change; null after a restore. */
  record: recordSchema.nullable(),
});

/** A change in progress. It has enough to finish the change or to undo it, wherever it stops. */
export type Journal = Readonly<z.infer<typeof journalSchema>>;

/** Returns undefined if there is no record, or if it is damaged: nothing is restored then. Throws if it has another format. */
export const parseRecord = (text: string | undefined): PatchRecord | undefined =>
  text === undefined ? undefined : parseSealed(recordSchema, text);

export const parseJournal = (text: string): Journal | undefined => parseSealed(journalSchema, text);

function parseSealed<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    const sealed = z.object({ digest, body: z.string() }).parse(JSON.parse(text));
    if (digestOf([Buffer.from(sealed.body)]) !== sealed.digest) return undefined;
    const body: unknown = JSON.parse(sealed.body);
    const { success, data } = formatSchema.safeParse(body);
    if (success && data.format !== FORMAT) throw otherFormat();
    return schema.safeParse(body).data;
  } catch (error) {
    if (error instanceof ExcursorError) throw error;
    return undefined;
  }
}

const formatSchema = z.object({ format: z.number() });

const otherFormat = (): ExcursorError => new ExcursorError("ide_other_version");
