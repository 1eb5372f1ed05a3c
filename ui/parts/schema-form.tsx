import { useState } from "preact/hooks";
import { asObject, asText, listOf } from "../json.ts";

interface SchemaFormProps {
  /** Prefixes the ids of the fields. */
  readonly id: string;
  /** The JSON schema of an object. */
  readonly schema: object;
  readonly submit: string;
  readonly isBusy?: boolean;
  onSubmit(values: Readonly<Record<string, unknown>>): void;
}

/** Further fields are left out. */
const MAX_FIELDS = 40;

/** A form made from a JSON schema. Values that have no field of their own kind are filled in as JSON. */
export function SchemaForm({ id, schema, submit, isBusy = false, onSubmit }: SchemaFormProps) {
  const [wrong, setWrong] = useState<string>();
  const { properties, required } = asObject(schema);
  const fields = Object.entries(asObject(properties)).slice(0, MAX_FIELDS);
  const isRequired = (name: string) => listOf(required).includes(name);
  const send = (form: HTMLFormElement) => {
    const values: Record<string, unknown> = {};
    for (const [name, field] of fields) {
      const input = form.elements.namedItem(`${id}-${name}`);
      const given = readField(input, asObject(field), isRequired(name));
      if (given instanceof Error) {
        setWrong(`${name}: ${given.message}`);
        return;
      }
      if (given !== undefined) values[name] = given;
    }
    setWrong(undefined);
    onSubmit(values);
  };
  return (
    <form
      class="schema-form"
      onSubmit={(event) => {
        event.preventDefault();
        send(event.currentTarget);
      }}
    >
      {fields.map(([name, field]) => (
        <Field key={name} id={`${id}-${name}`} name={name} field={asObject(field)} isRequired={isRequired(name)} />
      ))}
      {wrong !== undefined && (
        <p class="bad-text" role="alert">
          {wrong}
        </p>
      )}
      <p>
        <button type="submit" class="primary" disabled={isBusy}>
          {submit}
        </button>
      </p>
    </form>
  );
}

type Schema = Readonly<Record<string, unknown>>;

const choicesOf = (field: Schema): readonly string[] => listOf(field["enum"]).filter((one) => typeof one === "string");

interface FieldProps {
  readonly id: string;
  readonly name: string;
  readonly field: Schema;
  readonly isRequired: boolean;
}

function Field({ id, name, field, isRequired }: FieldProps) {
  const type = asText(field["type"]);
  const choices = choicesOf(field);
  const initial = field["default"];
  const description = asText(field["description"]) ?? asText(field["title"]);
  const common = { id, name: id, required: isRequired, "aria-describedby": description ? `${id}-note` : undefined };
  return (
    <div class="field">
      <label for={id}>
        <span class="mono">{name}</span> <span>{typeName(type, choices)}</span>
        {isRequired && <span> required</span>}
      </label>
      {choices.length > 0 ? (
        <select {...common}>
          {!isRequired && <option value="" />}
          {choices.map((choice) => (
            <option key={choice} selected={choice === initial}>
              {choice}
            </option>
          ))}
        </select>
      ) : type === "boolean" ? (
        <input {...common} required={false} type="checkbox" defaultChecked={initial === true} />
      ) : type === "string" || type === "number" || type === "integer" ? (
        <input
          {...common}
          inputMode={type === "string" ? undefined : "decimal"}
          defaultValue={initial === undefined ? "" : String(initial)}
          autocomplete="off"
          spellcheck={false}
        />
      ) : (
        <textarea
          {...common}
          rows={3}
          class="mono"
          placeholder={type === "array" ? "[]" : "{}"}
          defaultValue={initial === undefined ? "" : JSON.stringify(initial)}
          spellcheck={false}
        />
      )}
      {description && (
        <p class="muted" id={`${id}-note`}>
          {description}
        </p>
      )}
    </div>
  );
}

const typeName = (type: string | undefined, choices: readonly string[]): string =>
  choices.length > 0 ? "" : type === "object" || type === "array" || type === undefined ? "JSON" : type;

/** Returns the value of a field, undefined if it is left empty, or what is wrong with it. */
function readField(input: Element | RadioNodeList | null, field: Schema, isRequired: boolean): unknown {
  const type = asText(field["type"]);
  // An optional box that is left as it is means nothing: the server has a default of its own.
  if (input instanceof HTMLInputElement && input.type === "checkbox") {
    return input.checked || field["default"] === true || isRequired ? input.checked : undefined;
  }
  const isField =
    input instanceof HTMLInputElement || input instanceof HTMLSelectElement || input instanceof HTMLTextAreaElement;
  if (!isField || input.value === "") return undefined;
  if (type === "number" || type === "integer") {
    const value = Number(input.value);
    return Number.isNaN(value) ? new Error("expected a number.") : value;
  }
  if (type === "string" || choicesOf(field).length > 0) return input.value;
  try {
    return JSON.parse(input.value) as unknown;
  } catch {
    return new Error("expected JSON.");
  }
}
