/** A conversation of an editor's as it is kept. */
export interface KeptSession {
  readonly id: string;
  /** The project's. */
  readonly folder: string;
  readonly model: string;
  /** What it begins with, for lists. */
  readonly title: string;
  /** All that was said, as its face writes it. */
  readonly messages: string;
}

/** One in a list. */
export type SessionEntry = Pick<KeptSession, "id" | "folder" | "title"> & { readonly updatedAt: Date };

/** Conversations that outlive the process. Each principal has its own; bounded and for a while. */
export interface KeptSessions {
  keep(principalId: string, session: KeptSession): void;
  find(principalId: string, id: string): KeptSession | undefined;
  /** The newest first; of one folder, if one is given. */
  list(principalId: string, folder: string | undefined): readonly SessionEntry[];
  forget(principalId: string, id: string): void;
}

/** Remembers nothing. */
export const NO_SESSIONS: KeptSessions = {
  keep: () => {},
  find: () => undefined,
  list: () => [],
  forget: () => {},
};
