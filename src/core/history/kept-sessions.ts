/** A stored conversation of an editor. */
export interface KeptSession {
  readonly id: string;
  /** The folder of the project. */
  readonly folder: string;
  readonly model: string;
  /** The beginning of the conversation, for lists. */
  readonly title: string;
  /** The messages, serialised by the face. */
  readonly messages: string;
}

export type SessionEntry = Pick<KeptSession, "id" | "folder" | "title"> & { readonly updatedAt: Date };

/** Stores conversations over restarts. Each principal has its own. Number and age are limited. */
export interface KeptSessions {
  keep(principalId: string, session: KeptSession): void;
  find(principalId: string, id: string): KeptSession | undefined;
  /** Newest first. With a folder, only the conversations of that one. */
  list(principalId: string, folder: string | undefined): readonly SessionEntry[];
  forget(principalId: string, id: string): void;
}

/** A store that keeps nothing. */
export const NO_SESSIONS: KeptSessions = {
  keep: () => {},
  find: () => undefined,
  list: () => [],
  forget: () => {},
};
