import { ColonnadeError } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations, type PropertyValues } from "lit";
import { readRows } from "../server/read-rows.js";
import { errorAlert } from "../ui/error-alert.js";

/** The forms of EXPLAIN. */
type PlanKind = "text" | "tree" | "analyze";

const KINDS: { kind: PlanKind; label: string; sql: string }[] = [
  { kind: "text", label: "Text", sql: "EXPLAIN" },
  { kind: "tree", label: "Tree", sql: "EXPLAIN FORMAT TREE" },
  { kind: "analyze", label: "Analyze", sql: "EXPLAIN ANALYZE" },
];

const TITLES: Record<string, string> = {
  logical_plan: "Logical plan",
  physical_plan: "Physical plan",
  "Plan with Metrics": "Physical plan with metrics",
};

/** The plan of a statement; `analyze` runs the statement and adds metrics. */
export class PlanPanel extends LitElement {
  static override properties: PropertyDeclarations = {
    sql: { attribute: false },
    numLoads: { attribute: false },
    kind: { state: true },
    plans: { state: true },
    error: { state: true },
    isCancelled: { state: true },
  };

  declare sql: string;
  /** A new number plans the same statement again. */
  declare numLoads: number;
  declare kind: PlanKind;
  /** Titles and texts; undefined while they are being read. */
  declare plans: [title: string, text: string][] | undefined;
  declare error: ColonnadeError | undefined;
  declare isCancelled: boolean;
  #abort: AbortController | undefined;

  constructor() {
    super();
    this.sql = "";
    this.numLoads = 0;
    this.kind = "text";
    this.isCancelled = false;
  }

  /** Cancels the EXPLAIN. */
  cancel(): void {
    if (this.plans !== undefined || this.error !== undefined) return;
    this.#abort?.abort();
    this.isCancelled = true;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#abort?.abort();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("sql") || changed.has("kind") || changed.has("numLoads")) void this.#ask();
  }

  protected override render() {
    return html`<div class="plan">
      <div class="plan-kinds" role="group" aria-label="Plan format">
        ${KINDS.map(
          ({ kind, label }) => html`<button
            class="action"
            aria-pressed=${kind === this.kind}
            title=${kind === "analyze" ? "Runs the statement and shows its metrics" : nothing}
            @click=${() => {
              this.kind = kind;
            }}
          >
            ${label}
          </button>`,
        )}
      </div>
      ${this.#renderPlans()}
    </div>`;
  }

  #renderPlans() {
    const { error, plans } = this;
    if (error !== undefined) {
      return errorAlert(error);
    }
    if (this.isCancelled) {
      return html`<div class="plan-wait" role="status">
        <p class="note">Cancelled.</p>
        <button class="action" @click=${() => void this.#ask()}>Explain again</button>
      </div>`;
    }
    if (plans === undefined) {
      const isRunning = this.kind === "analyze";
      return html`<div class="plan-wait" role="status">
        <p class="note">${isRunning ? "Running the statement…" : "Planning…"}</p>
        <button class="action" @click=${() => this.cancel()}>Cancel</button>
      </div>`;
    }
    return plans.map(
      ([title, text]) => html`<section aria-label=${title}>
        <h2>${title}</h2>
        <pre tabindex="0">${text}</pre>
      </section>`,
    );
  }

  async #ask(): Promise<void> {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    this.plans = undefined;
    this.error = undefined;
    this.isCancelled = false;
    const { signal } = abort;
    const prefix = KINDS.find(({ kind }) => kind === this.kind)?.sql;
    try {
      const rows = await readRows(`${prefix} ${withoutExplain(this.sql)}`, { signal });
      if (signal.aborted) return;
      this.plans = rows.map(([title, text]) => [TITLES[title ?? ""] ?? title ?? "", text ?? ""]);
    } catch (thrown) {
      if (!signal.aborted) this.error = ColonnadeError.from(thrown, "open_failed");
    }
  }
}

/** Removes EXPLAIN and its options from a statement. */
export function withoutExplain(sql: string): string {
  return sql.replace(/^\s*explain\s+(?:(?:analyze|verbose|format\s+\w+)\s+)*/i, "");
}
