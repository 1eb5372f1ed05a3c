/** The parts of an entry in docs/troubleshooting.md. */
export interface CodeWords {
  /** What the error says. */
  readonly text: string;
  /** What the user can do. */
  readonly hint: string;
}

const AT_CURSOR = "Look at your account on cursor.com, or ask Cursor's support. Excursor cannot change it.";

/**
 * What the sources do not say next to the code: messages that come from the upstream, and texts that are put together. An
 * entry here replaces what was found in the sources.
 */
export const CODE_WORDS: Readonly<Record<string, Partial<CodeWords>>> = {
  account_closed: { text: "Cursor says that the account is closed.", hint: AT_CURSOR },
  accounts_unreadable: { text: "The account file … cannot be read: …." },
  agent_has_own_tools: { hint: "This is a notice. Give the agent its tools in its own configuration." },
  agent_no_command: {
    hint: "Install the agent. Or give its full path in the setting `agents`, or make sure that the program is in PATH.",
  },
  agent_stop_reason: { hint: "This is a notice, and the answer is complete. Update Excursor." },
  bad_config: { text: "…:…: a setting has a value that it cannot have, or the file is not valid JSON." },
  bad_key_file: { text: "… does not contain a valid key." },
  bad_mcp_server: {
    text: "mcpServers: the editor named an MCP server that cannot be used: ….",
    hint: "Correct that server in the editor's settings.",
  },
  blob_unreadable: {
    text: "…: the blob is not a ….",
    hint: "Start a new conversation in the client. If it happens again, its version of the protocol is not known: `excursor report`.",
  },
  capacity: { text: "Cursor's backend has no capacity for the request now." },
  capture_unwritable: { text: "Excursor could not create the capture …: …." },
  client_config_unreadable: { text: "… cannot be read: …." },
  client_gone: { hint: "If nobody cancelled, look for a time limit in the client or in a proxy between." },
  config_unreadable: { text: "Excursor could not read …: …." },
  content_policy: {
    text: "The model's provider refused the content of the request.",
    hint: "Change the request, or choose another model.",
  },
  debounced: { text: "Cursor's backend dropped the request for a newer one.", hint: "Send it again." },
  headers_refused: {
    text: "The upstream answered with status 431: the headers of the request are too large.",
    hint: "Check the setting `token` and any proxy that adds headers.",
  },
  home_unusable: { text: "Excursor could not create the folder …: …." },
  hooks_blocked: {
    text: "A hook of the Cursor account or team blocked the request.",
    hint: "Look at the hooks in Cursor's settings, or ask the team's administrator.",
  },
  http1_required: { text: "The upstream takes no HTTP/2 for this call." },
  http2_required: { text: "The upstream answered with status 464: it takes no HTTP/1.1 for this call." },
  ide_not_restored: {
    text: "… cannot be restored: … Nothing was undone.",
    hint: "Quit Cursor, or undo the other change in it. `excursor reset --force` leaves the patch in it and deletes the originals.",
  },
  ide_running: { hint: "Quit Cursor completely, or wait until its update is done, then try again." },
  image_too_large: { text: "The image is larger than the model takes." },
  invalid_header: { hint: "Copy the token again, without line breaks. Use printable ASCII only." },
  key_unreadable: { text: "Excursor could not read the file of the gateway's key: …." },
  key_unwritable: { text: "Excursor could not write the key to …: …." },
  keys_unreadable: {
    text: "The file of keys cannot be read.",
    hint: "Check keys.json in the home folder and its permissions.",
  },
  lock_unusable: { text: "Excursor could not lock …: …." },
  max_mode_required: {
    text: "Cursor says that this model or context needs max mode.",
    hint: "Add -max to the model's name, for example opus-max.",
  },
  mcp_refused: {
    text: 'The MCP server "…" refused …: ….',
    hint: "Correct what the server names. `excursor mcp test NAME` asks it again.",
  },
  mcp_server_exited: { text: 'The MCP server "…" exited.' },
  mcp_unauthorized: { text: 'The MCP server "…" answered with 401 or 403.' },
  mcp_unknown_tool: { text: "The tool … does not exist." },
  media_type_refused: {
    text: "The upstream answered with status 415: it does not take the content type of the request.",
  },
  model_blocked: {
    text: "The account or its team may not use this model.",
    hint: "Choose another model: `excursor models`. A team's administrator can allow it.",
  },
  not_installed: {
    text: "npx keeps Excursor in a cache that it deletes some day.",
    hint: "Install it first: npm install -g excursor",
  },
  plan_required: {
    text: "Cursor offers this to paid plans only.",
    hint: "Choose another model, or change the plan on cursor.com.",
  },
  protocol_violation: { text: "The client's message does not belong there: …." },
  redirected: { text: "The upstream answered with a redirect." },
  resume_stalled: { text: "The backend did not continue after it received the tool results." },
  service_broken: { text: "The service starts …, which does not exist. Or: The file of the service is not complete." },
  state_failed: { hint: "Answers go on. Check that the disk has free space and that state.db is yours." },
  state_put_aside: {
    text: "The state file was damaged, or is of another version of Excursor. It was renamed, and a new one begun.",
    hint: "The message says where it is now. Conversations are replayed from the clients' transcripts.",
  },
  state_unusable: {
    text: "The state file cannot be opened or created: ….",
    hint: "Check the home folder, state.db in it and their permissions. With the setting `state` off, Excursor runs without it.",
  },
  stream_refused: { text: "The upstream refused the HTTP/2 stream before it read the request." },
  suspicious_usage_blocked: { text: "Cursor blocked the account's requests for suspicious usage.", hint: AT_CURSOR },
  token_expired: { text: "The login has expired.", hint: "Sign in again: `excursor login`." },
  too_many_schemas: { text: "Too many JSON schemas are being checked.", hint: "Try again in a moment." },
  unexpected_status: { text: "The upstream answered with a status that its protocol does not have." },
  unsupported_region: {
    text: "Cursor does not offer this model in your region.",
    hint: "Choose another model: `excursor models`.",
  },
  upstream_internal: {
    text: "The upstream reports an error of its own.",
    hint: "Try again in a moment, or with another model.",
  },
  upstream_key_refused: { text: "… refused the key: …." },
};
