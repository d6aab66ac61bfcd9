import { html, nothing, type TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import {
  AGGREGATES,
  type ChartSpec,
  choicesOf,
  fitToFields,
  hasAggregate,
  KINDS,
} from "./chart-spec.js";
import type { ChartField } from "./fields.js";

const KIND_NAMES: Record<ChartSpec["kind"], string> = {
  line: "Line",
  area: "Area",
  bar: "Bar",
  histogram: "Histogram",
  scatter: "Scatter",
  box: "Box",
};

/** The controls of a chart: its kind, columns, aggregate and colour. */
export function controls(
  spec: ChartSpec,
  fields: readonly ChartField[],
  change: (spec: ChartSpec) => void,
): TemplateResult {
  const choices = choicesOf(spec.kind, fields);
  const set = (part: Partial<ChartSpec>) => {
    const next = fitToFields({ ...spec, ...part }, fields);
    if (next !== undefined) change(next);
  };
  const kinds = KINDS.filter((kind) => fitToFields({ ...spec, kind }, fields) !== undefined);
  const isCount = hasAggregate(spec.kind) && spec.aggregate === "count";
  const hasY = spec.kind !== "histogram" && !isCount;
  const names = (all: readonly ChartField[]) => all.map(({ name }) => [name, name] as const);
  return html`<div class="controls">
    ${select(
      "Chart",
      kinds.map((kind) => [kind, KIND_NAMES[kind]]),
      spec.kind,
      (kind) => set({ kind: kind as ChartSpec["kind"] }),
    )}
    ${select(
      spec.kind === "bar" || spec.kind === "box" ? "Category" : "X",
      names(choices.x),
      spec.x,
      (x) => set({ x, brush: undefined }),
    )}
    ${
      hasAggregate(spec.kind)
        ? select(
            "Y",
            AGGREGATES.filter((each) => each === "count" || choices.y.length > 0).map((each) => [
              each,
              each === "count" ? "rows" : `${each} of`,
            ]),
            spec.aggregate,
            (aggregate) => set({ aggregate: aggregate as ChartSpec["aggregate"] }),
          )
        : nothing
    }
    ${
      hasY
        ? select(hasAggregate(spec.kind) ? "Column" : "Y", names(choices.y), spec.y ?? "", (y) =>
            set({ y }),
          )
        : nothing
    }
    ${
      choices.groups.length > 0
        ? select(
            "Colour",
            [["", "none"], ...names(choices.groups.filter(({ name }) => name !== spec.x))],
            spec.group ?? "",
            (group) => set({ group: group === "" ? undefined : group }),
          )
        : nothing
    }
  </div>`;
}

function select(
  label: string,
  options: readonly (readonly [value: string, text: string])[],
  value: string,
  choose: (value: string) => void,
): TemplateResult {
  return html`<label
    ><span>${label}</span
    ><select
      @change=${(event: Event) => choose((event.currentTarget as HTMLSelectElement).value)}
    >
      ${options.map(
        ([each, text]) =>
          html`<option value=${each} .selected=${live(each === value)}>${text}</option>`,
      )}
    </select></label
  >`;
}
