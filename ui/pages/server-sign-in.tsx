import { useState } from "preact/hooks";
import type { McpServerRow, SignInReply } from "../../src/dashboard/messages.ts";
import { ErrorNotice, Notice } from "../parts/notice.tsx";
import { post, remove } from "../session.ts";

interface ServerSignInProps {
  readonly server: McpServerRow;
  /** Called when the state of the sign-in may have changed. */
  onChange(): void;
}

/** Starts a sign-in at an MCP server, and shows how far it is. The user signs in on the server's own page. */
export function ServerSignIn({ server: { name, signIn }, onChange }: ServerSignInProps) {
  const [error, setError] = useState<unknown>();
  const act = (call: Promise<unknown>) => {
    setError(undefined);
    call.catch(setError).finally(onChange);
  };
  const isWaiting = signIn?.state === "waiting";
  return (
    <div class="sign-in">
      {error !== undefined && <ErrorNotice error={error} />}
      {error === undefined && signIn?.state === "failed" && (
        <Notice kind="bad" title={signIn.message}>
          {signIn.hint}
        </Notice>
      )}
      {isWaiting ? (
        <>
          <p class="approval" role="status">
            {signIn.page === null ? (
              "Asking the server for its sign-in page…"
            ) : (
              <>
                <a class="button primary" href={signIn.page} target="_blank" rel="noopener noreferrer">
                  Open the sign-in page
                </a>
                <span class="muted">on {new URL(signIn.page).host}. Waiting for you to sign in there…</span>
              </>
            )}
            <button
              type="button"
              class="small"
              aria-label={`Cancel the sign-in to ${name}`}
              onClick={() => act(remove(`/sign-ins/${encodeURIComponent(name)}`))}
            >
              Cancel
            </button>
          </p>
          <AddressForm name={name} onSubmit={(address) => act(post("/sign-in-addresses", { server: name, address }))} />
        </>
      ) : (
        <button
          type="button"
          class="primary"
          aria-label={`Sign in to ${name}`}
          onClick={() => {
            act(post<SignInReply>("/sign-ins", { server: name }));
            onChange();
          }}
        >
          Sign in
        </button>
      )}
    </div>
  );
}

interface AddressFormProps {
  readonly name: string;
  onSubmit(address: string): void;
}

/** The server's page leads to an address of the gateway's machine. A browser on another machine cannot open it. */
function AddressForm({ name, onSubmit }: AddressFormProps) {
  const [address, setAddress] = useState("");
  return (
    <details>
      <summary class="muted">The last page does not open</summary>
      <form
        class="approval"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit(address.trim());
        }}
      >
        <input
          aria-label={`Address of the last page of the sign-in to ${name}`}
          placeholder="Paste its address: http://127.0.0.1…"
          value={address}
          onInput={({ currentTarget }) => setAddress(currentTarget.value)}
          autocomplete="off"
          spellcheck={false}
        />
        <button type="submit" class="small" disabled={address.trim() === ""}>
          Use it
        </button>
      </form>
    </details>
  );
}
