import { useMemo, useState } from "preact/hooks";
import type { ModelRow, ModelsReply, ProbeReply } from "../../src/dashboard/messages.ts";
import { dollars, NONE, short, span, whole } from "../format.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { asCallError, post } from "../session.ts";
import type { Page } from "./page.ts";

export const modelsPage: Page = { path: "/ui/models", title: "Models", icon: "cube", Content: ModelsContent };

type Probes = Readonly<Record<string, ProbeReply | "running">>;

function ModelsContent() {
  const { value, error, reload } = useLoaded<ModelsReply>("/models");
  const [filter, setFilter] = useState("");
  const [probes, setProbes] = useState<Probes>({});
  const columns = useMemo(() => columnsOf(probes, setProbes), [probes]);
  const wanted = filter.trim().toLowerCase();
  const models = value?.models ?? [];
  const rows = models.filter((model) => textOf(model).includes(wanted));
  return (
    <>
      <div class="page-head">
        <h1>Models</h1>
        <span class="muted">{value && whole(value.modelCount)}</span>
        <div class="actions">
          <input
            type="search"
            aria-label="Filter the models"
            placeholder="Filter"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
          <button type="button" onClick={reload}>
            Load again
          </button>
        </div>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {error === undefined && (
        <Table
          label="Models"
          columns={columns}
          rows={rows}
          keyOf={({ id }) => id}
          empty={
            !value
              ? "Loading…"
              : models.length > 0
                ? "No model has this text in its name, its aliases or its driver."
                : "No upstream lists models. Sign in with: excursor login. Or add models to the setting models."
          }
        />
      )}
      <p class="muted below">
        Prices are for a million tokens, by a price list or your settings. What Cursor charges is decided by Cursor. A
        probe sends one short request, which counts like any other.
      </p>
    </>
  );
}

const textOf = ({ id, name, aliases, driver }: ModelRow): string =>
  [id, name, driver, ...aliases].join(" ").toLowerCase();

const priceText = ({ inputMicros, outputMicros }: NonNullable<ModelRow["price"]>): string =>
  `${dollars(inputMicros)} / ${dollars(outputMicros)}`;

const columnsOf = (
  probes: Probes,
  setProbes: (change: (before: Probes) => Probes) => void,
): readonly Column<ModelRow>[] => [
  {
    title: "Model",
    cell: ({ id, name, aliases, contextTokens, price }) => (
      <span class="stack">
        <span class="mono">{id}</span>
        <span class="muted ellipsis" title={aliases.join(", ")}>
          {[name === id ? "" : name, ...aliases].filter((text) => text !== "").join(" · ")}
        </span>
        <span class="muted narrow">
          {short(contextTokens)} window{price && `, ${priceText(price)}`}
        </span>
      </span>
    ),
  },
  { title: "By", isWide: true, cell: ({ driver }) => driver },
  { title: "Window", isNumber: true, isWide: true, cell: ({ contextTokens }) => short(contextTokens) },
  {
    title: "Can",
    isWide: true,
    cell: ({ isThinking, supportsImages }) => (
      <>
        {isThinking && <span class="tag">thinking</span>} {supportsImages && <span class="tag">images</span>}
      </>
    ),
  },
  {
    title: "Efforts",
    isWide: true,
    cell: ({ efforts }) => <span class="muted wrap">{efforts.join(" ") || NONE}</span>,
  },
  {
    title: "Price in / out",
    isNumber: true,
    isWide: true,
    cell: ({ price }) =>
      price === null ? (
        NONE
      ) : (
        <span class="stack">
          {priceText(price)}
          <span class="muted">{price.source}</span>
        </span>
      ),
  },
  {
    title: "Probe",
    cell: ({ id }) => (
      <span class="actions">
        <button
          type="button"
          class="small"
          aria-label={`Probe ${id}`}
          disabled={probes[id] === "running"}
          onClick={() => {
            const set = (result: Probes[string]) => setProbes((before) => ({ ...before, [id]: result }));
            set("running");
            post<ProbeReply>("/probes", { model: id }).then(set, (error) => {
              const { message, hint = null } = asCallError(error);
              set({ model: id, isFine: false, durationMs: 0, message, hint });
            });
          }}
        >
          Probe
        </button>
        <ProbeResult probe={probes[id]} />
      </span>
    ),
  },
];

function ProbeResult({ probe }: { readonly probe: Probes[string] | undefined }) {
  if (probe === undefined) return null;
  if (probe === "running") return <span class="muted">asking…</span>;
  if (!probe.isFine) {
    return (
      <span class="bad-text wrap probe" role="status">
        {probe.message} {probe.hint}
      </span>
    );
  }
  return (
    <span class="tag ok" role="status" title={probe.text}>
      answered in {span(probe.durationMs)}, first token {span(probe.firstTokenMs)}
    </span>
  );
}
