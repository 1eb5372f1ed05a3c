import { useState } from "preact/hooks";
import type { NewKeyReply } from "../../src/dashboard/messages.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { post } from "../session.ts";

interface NewKeyFormProps {
  readonly accounts: readonly string[];
  onMade(key: NewKeyReply): void;
}

/** The form that adds a key. The gateway checks the fields and names the wrong one. */
export function NewKeyForm({ accounts, onMade }: NewKeyFormProps) {
  const [error, setError] = useState<unknown>();
  const submit = (form: HTMLFormElement) => {
    const fields = new FormData(form);
    const text = (name: string) => String(fields.get(name) ?? "").trim();
    const number = (name: string) => (text(name) === "" ? undefined : Number(text(name)));
    setError(undefined);
    post<NewKeyReply>("/keys", {
      name: text("name"),
      account: text("account") || undefined,
      streams: number("streams"),
      onLimit: text("onLimit"),
      limits: text("limits")
        .split(",")
        .map((limit) => limit.trim())
        .filter((limit) => limit !== ""),
    }).then((made) => {
      form.reset();
      onMade(made);
    }, setError);
  };
  return (
    <form
      class="card form"
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      <Field id="name" label="Name: its user or purpose" isRequired />
      <Field id="limits" label="Limits, with commas" placeholder="$5/day, 60 requests/minute" />
      <Field id="streams" label="Streams at once" isNumber />
      <p>
        <label for="key-onLimit">When a limit is reached</label>
        <select id="key-onLimit" name="onLimit">
          <option value="end">end tool loops</option>
          <option value="pause">pause tool loops until it is lifted</option>
        </select>
      </p>
      {accounts.length > 0 && (
        <p>
          <label for="key-account">Account</label>
          <select id="key-account" name="account">
            <option value="">the gateway's</option>
            {accounts.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </p>
      )}
      <p>
        <button type="submit" class="primary">
          Add the key
        </button>
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
    </form>
  );
}

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly isNumber?: boolean;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
}

const Field = ({ id, label, isNumber = false, placeholder, isRequired = false }: FieldProps) => (
  <p>
    <label for={`key-${id}`}>{label}</label>
    <input
      id={`key-${id}`}
      name={id}
      inputMode={isNumber ? "numeric" : undefined}
      placeholder={placeholder}
      required={isRequired}
      autocomplete="off"
      spellcheck={false}
    />
  </p>
);
