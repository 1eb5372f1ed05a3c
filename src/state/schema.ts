import type { VersionedSchema } from "./schema-version.ts";

/** Triggers by which `holding` counts the rows and the bytes that each principal has in a table. */
const counted = (table: string): string => `
  CREATE TRIGGER ${table}_held AFTER INSERT ON ${table} BEGIN
    INSERT INTO holding VALUES ('${table}', NEW.principal, 1, NEW.bytes)
      ON CONFLICT (store, principal) DO UPDATE SET items = items + 1, bytes = bytes + excluded.bytes;
  END;
  CREATE TRIGGER ${table}_resized AFTER UPDATE OF bytes ON ${table} BEGIN
    UPDATE holding SET bytes = bytes - OLD.bytes + NEW.bytes WHERE store = '${table}' AND principal = NEW.principal;
  END;
  CREATE TRIGGER ${table}_let_go AFTER DELETE ON ${table} BEGIN
    UPDATE holding SET items = items - 1, bytes = bytes - OLD.bytes WHERE store = '${table}' AND principal = OLD.principal;
    DELETE FROM holding WHERE store = '${table}' AND principal = OLD.principal AND items <= 0;
  END;`;

/**
 * The schema of the state file. `principal` is a digest everywhere.
 *
 * Triggers keep two invariants. A blob lives as long as a checkpoint refers to it. `holding` counts the rows of each
 * principal, whichever process wrote them.
 */
const SQL = `
  CREATE TABLE kv (space TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (space, key)) WITHOUT ROWID;

  -- How much each principal holds of what all of them share. store: the table.
  CREATE TABLE holding (
    store TEXT NOT NULL,
    principal BLOB NOT NULL,
    items INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (store, principal)
  ) WITHOUT ROWID;

  -- history: which history this comes after. seal: see seal.ts.
  CREATE TABLE checkpoint (
    id INTEGER PRIMARY KEY,
    principal BLOB NOT NULL,
    history TEXT NOT NULL,
    conversation TEXT NOT NULL,
    state BLOB NOT NULL,
    seal INTEGER NOT NULL,
    put_at INTEGER NOT NULL,
    UNIQUE (principal, history)
  );
  CREATE INDEX checkpoint_by_age ON checkpoint (put_at, id);
  CREATE INDEX checkpoint_by_holder ON checkpoint (principal, put_at, id);

  -- owner: a digest of principal and conversation. Two owners share nothing, not even what is the same.
  CREATE TABLE blob (
    id INTEGER PRIMARY KEY,
    principal BLOB NOT NULL,
    owner BLOB NOT NULL,
    name TEXT NOT NULL,
    data BLOB NOT NULL,
    seal INTEGER NOT NULL,
    UNIQUE (owner, name)
  );

  CREATE TABLE ref (checkpoint INTEGER NOT NULL, blob INTEGER NOT NULL, PRIMARY KEY (checkpoint, blob)) WITHOUT ROWID;
  CREATE INDEX ref_by_blob ON ref (blob);

  CREATE TRIGGER checkpoint_gone AFTER DELETE ON checkpoint BEGIN
    DELETE FROM ref WHERE checkpoint = OLD.id;
  END;
  CREATE TRIGGER ref_gone AFTER DELETE ON ref
    WHEN NOT EXISTS (SELECT 1 FROM ref WHERE blob = OLD.blob) BEGIN
    DELETE FROM blob WHERE id = OLD.blob;
  END;

  CREATE TRIGGER checkpoint_held AFTER INSERT ON checkpoint BEGIN
    INSERT INTO holding VALUES ('checkpoint', NEW.principal, 1, length(NEW.state))
      ON CONFLICT (store, principal) DO UPDATE SET items = items + 1, bytes = bytes + excluded.bytes;
  END;
  CREATE TRIGGER checkpoint_resized AFTER UPDATE OF state ON checkpoint BEGIN
    UPDATE holding SET bytes = bytes - length(OLD.state) + length(NEW.state)
      WHERE store = 'checkpoint' AND principal = NEW.principal;
  END;
  CREATE TRIGGER checkpoint_let_go AFTER DELETE ON checkpoint BEGIN
    UPDATE holding SET items = items - 1, bytes = bytes - length(OLD.state)
      WHERE store = 'checkpoint' AND principal = OLD.principal;
    DELETE FROM holding WHERE store = 'checkpoint' AND principal = OLD.principal AND items <= 0 AND bytes <= 0;
  END;
  CREATE TRIGGER blob_held AFTER INSERT ON blob BEGIN
    INSERT INTO holding VALUES ('checkpoint', NEW.principal, 0, length(NEW.data))
      ON CONFLICT (store, principal) DO UPDATE SET bytes = bytes + excluded.bytes;
  END;
  CREATE TRIGGER blob_let_go AFTER DELETE ON blob BEGIN
    UPDATE holding SET bytes = bytes - length(OLD.data) WHERE store = 'checkpoint' AND principal = OLD.principal;
    DELETE FROM holding WHERE store = 'checkpoint' AND principal = OLD.principal AND items <= 0 AND bytes <= 0;
  END;

  -- Answers that clients may refer to. body: the answer without its output. bytes: with all items.
  CREATE TABLE response (
    key INTEGER PRIMARY KEY,
    principal BLOB NOT NULL,
    id TEXT NOT NULL,
    previous TEXT,
    body TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    put_at INTEGER NOT NULL,
    UNIQUE (principal, id)
  );
  CREATE INDEX response_by_age ON response (put_at, key, bytes);
  CREATE INDEX response_by_holder ON response (principal, put_at, key);

  CREATE TABLE response_item (
    response INTEGER NOT NULL,
    position INTEGER NOT NULL,
    is_output INTEGER NOT NULL,
    id TEXT NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (response, position)
  ) WITHOUT ROWID;
  CREATE INDEX response_item_by_id ON response_item (id);

  CREATE TRIGGER response_gone AFTER DELETE ON response BEGIN
    DELETE FROM response_item WHERE response = OLD.key;
  END;
  ${counted("response")}

  -- Thinking that clients refer to. digest: of the text.
  CREATE TABLE thought (
    principal BLOB NOT NULL,
    id TEXT NOT NULL,
    digest BLOB NOT NULL,
    text TEXT NOT NULL,
    signature TEXT,
    bytes INTEGER NOT NULL,
    put_at INTEGER NOT NULL,
    PRIMARY KEY (principal, id)
  ) WITHOUT ROWID;
  CREATE INDEX thought_by_text ON thought (principal, digest);
  CREATE INDEX thought_by_age ON thought (put_at, bytes);
  CREATE INDEX thought_by_holder ON thought (principal, put_at, id);
  ${counted("thought")}

  -- Tool calls as clients got them. All but id are keys of arguments. returned: as the client sends the call back.
  CREATE TABLE sent_call (
    principal BLOB NOT NULL,
    id TEXT NOT NULL,
    sent TEXT NOT NULL,
    reduced TEXT NOT NULL,
    returned TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    put_at INTEGER NOT NULL,
    PRIMARY KEY (principal, id)
  ) WITHOUT ROWID;
  CREATE INDEX sent_call_by_age ON sent_call (put_at, bytes);
  CREATE INDEX sent_call_by_holder ON sent_call (principal, put_at, id);
  ${counted("sent_call")}

  -- Conversations of editors. messages: as their face writes them.
  CREATE TABLE editor_session (
    principal BLOB NOT NULL,
    id TEXT NOT NULL,
    folder TEXT NOT NULL,
    model TEXT NOT NULL,
    title TEXT NOT NULL,
    messages TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    put_at INTEGER NOT NULL,
    PRIMARY KEY (principal, id)
  ) WITHOUT ROWID;
  CREATE INDEX editor_session_by_age ON editor_session (put_at, bytes);
  CREATE INDEX editor_session_by_holder ON editor_session (principal, put_at, id);
  ${counted("editor_session")}

  -- Answers for which the hub ran tools. asked: the request. answered: the history that ends with it.
  CREATE TABLE hub_answer (
    key INTEGER PRIMARY KEY,
    principal BLOB NOT NULL,
    id TEXT NOT NULL,
    asked TEXT NOT NULL,
    answered TEXT,
    text TEXT,
    reason TEXT,
    is_settled INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    put_at INTEGER NOT NULL,
    UNIQUE (principal, id)
  );
  CREATE INDEX hub_answer_by_request ON hub_answer (principal, asked, put_at);
  CREATE INDEX hub_answer_by_history ON hub_answer (principal, answered, put_at);
  CREATE INDEX hub_answer_by_age ON hub_answer (principal, put_at, key, bytes);

  -- body: what was said and the results, as JSON. seal: see seal.ts.
  CREATE TABLE hub_round (
    answer INTEGER NOT NULL,
    position INTEGER NOT NULL,
    body TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    seal INTEGER NOT NULL,
    PRIMARY KEY (answer, position)
  ) WITHOUT ROWID;

  CREATE TRIGGER hub_answer_gone AFTER DELETE ON hub_answer BEGIN
    DELETE FROM hub_round WHERE answer = OLD.key;
  END;
  ${counted("hub_answer")}
`;

/** Raise the version with every change: a file of another version is put aside. */
export const STATE_SCHEMA: VersionedSchema = { version: 9, sql: SQL };
