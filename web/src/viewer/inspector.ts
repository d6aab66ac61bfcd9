import { html, nothing, type TemplateResult } from "lit";
import type { CellPosition } from "../grid/keyboard.js";
import { formatCount } from "../model/counts.js";
import { ColonnadeError } from "../model/errors.js";
import { distinctFields, type Field } from "../model/schema.js";
import { bytesOf, hexLines, imageTypeOf } from "./binary.js";
import { type ShownRows, toClipboard } from "./clipboard.js";
import type { ViewerField } from "./events.js";
import { type JsonNode, parseJson } from "./json-tree.js";

export { inspectorStyles as styles } from "./inspector-styles.js";

/** What the inspector needs of the viewer. */
export interface InspectorHost {
  readonly viewer: EventTarget & {
    readonly fieldColumns: boolean;
    readonly shadowRoot: ShadowRoot | null;
  };
  requestUpdate(): void;
  /** Resolves when rendering is done. */
  whenUpdated(): Promise<boolean>;
  shown(): ShownRows | undefined;
  /** Called when the inspector is closed. */
  onClose(): void;
}

/** The content of a cell, parsed once. */
interface Content {
  text: string | null;
  tree: JsonNode | undefined;
  bytes: Uint8Array<ArrayBuffer> | undefined;
  image: string | undefined;
}

interface Inspected extends CellPosition {
  field: Field;
  content: Content | undefined;
  error: ColonnadeError | undefined;
}

/** How many items of a list, and bytes, each "Show more" adds. */
const ITEMS_PER_PAGE = 200;
const BYTES_PER_PAGE = 64 * 1024;

/** A dialog that shows a whole cell: text, nested values as a tree, bytes, and images if the policy allows. */
export class Inspector {
  readonly #host: InspectorHost;
  #inspected: Inspected | undefined;
  /** Whether a cell was chosen, and the dialog is not drawn yet. */
  #isOpening = false;
  #copied = "";
  /** Branches of the tree that the user opened or closed, and how many items they show. */
  #open = new Map<JsonNode, boolean>();
  #numItems = new Map<JsonNode, number>();
  #numBytes = BYTES_PER_PAGE;

  constructor(host: InspectorHost) {
    this.#host = host;
  }

  get #dialog(): HTMLDialogElement | null | undefined {
    return this.#host.viewer.shadowRoot?.querySelector("dialog.inspector");
  }

  /** Shows a cell. */
  async open(position: CellPosition): Promise<void> {
    const shown = this.#host.shown();
    const column = shown?.columns[position.column];
    const field = distinctFields(shown?.fields ?? [])[column ?? -1];
    if (shown === undefined || column === undefined || field === undefined) return;
    this.#forget();
    const inspected: Inspected = { ...position, field, content: undefined, error: undefined };
    this.#inspected = inspected;
    this.#isOpening = true;
    this.#host.requestUpdate();
    await this.#host.whenUpdated();
    if (this.#inspected !== inspected) return;
    this.#isOpening = false;
    this.#dialog?.showModal();
    try {
      const range = { start: position.row, end: position.row + 1 };
      const [texts] = await shown.rows.text(range, [column]);
      if (this.#inspected !== inspected) return;
      inspected.content = contentOf(texts?.[0] ?? null, field);
    } catch (thrown) {
      inspected.error = ColonnadeError.from(thrown, "worker_failed");
    }
    this.#host.requestUpdate();
  }

  /** Closes the dialog, if it is open. */
  close(): void {
    if (!this.#isOpening) {
      this.#dialog?.close();
      return;
    }
    this.#isOpening = false;
    this.#forget();
    this.#host.requestUpdate();
  }

  /** Renders the dialog; nothing while no cell is inspected. */
  render() {
    const inspected = this.#inspected;
    if (inspected === undefined) return nothing;
    const { field, row, content } = inspected;
    return html`<dialog
      class="inspector"
      part="inspector"
      aria-labelledby="inspected"
      @close=${this.#onClose}
      @click=${this.#onBackdrop}
    >
      <header>
        <h2 id="inspected">${field.name}</h2>
        <p>Row ${formatCount(row + 1)} · ${field.type}</p>
      </header>
      <div class="whole" tabindex="0" role="region" aria-label="Value">
        ${this.#renderBody(inspected)}
      </div>
      <footer>
        <span role="status">${this.#copied}</span>
        <button ?disabled=${content === undefined || content.text === null} @click=${this.#onCopy}>
          Copy value
        </button>
        <button @click=${() => this.close()}>Close</button>
      </footer>
    </dialog>`;
  }

  #renderBody({ content, error }: Inspected): TemplateResult {
    if (error !== undefined) return html`<p class="warning" role="alert">${error.message}</p>`;
    if (content === undefined) return html`<p class="kind">Loading…</p>`;
    const { text, tree, bytes, image } = content;
    if (text === null) return html`<p class="kind">null</p>`;
    if (bytes !== undefined) return this.#renderBytes(bytes, image);
    if (tree !== undefined)
      return html`<div class="tree">${this.#renderNode([], tree, true)}</div>`;
    if (text === "") return html`<p class="kind">Empty text</p>`;
    return html`<pre>${text}</pre>`;
  }

  #renderBytes(bytes: Uint8Array, image: string | undefined): TemplateResult {
    const end = Math.min(this.#numBytes, bytes.length);
    return html`<p class="kind">${formatCount(bytes.length)} ${bytes.length === 1 ? "byte" : "bytes"}</p>
      ${image === undefined ? nothing : html`<img alt="The image in this cell" src=${image} @error=${hide} />`}
      <pre class="hex">${hexLines(bytes, 0, end)}</pre>
      ${
        end === bytes.length
          ? nothing
          : html`<button @click=${() => this.#showMoreBytes()}>
              Show more (${formatCount(bytes.length - end)} bytes left)
            </button>`
      }`;
  }

  #renderNode(path: ViewerField["path"], node: JsonNode, isOpen: boolean): TemplateResult {
    const name = path.at(-1);
    const label = name === undefined ? nothing : html`<span class="key">${name}</span>: `;
    const add = this.#renderAdd(path);
    if (node.kind === "string") {
      return html`<div class="leaf">${label}<span class="quoted">${JSON.stringify(node.text)}</span>${add}</div>`;
    }
    if (node.kind === "literal") {
      return html`<div class="leaf">${label}<span class="literal">${node.text}</span>${add}</div>`;
    }
    const isArray = node.kind === "array";
    const children: [string | number, JsonNode][] = isArray
      ? node.items.map((item, index) => [index, item])
      : node.members;
    const size = `${formatCount(children.length)} ${isArray ? "item" : "member"}${children.length === 1 ? "" : "s"}`;
    const summary = html`${label}<span class="size">${isArray ? `[${size}]` : `{${size}}`}</span>`;
    if (children.length === 0) return html`<div class="leaf">${summary}${add}</div>`;
    const isShown = this.#open.get(node) ?? isOpen;
    const numShown = this.#numItems.get(node) ?? ITEMS_PER_PAGE;
    // A closed node is not rendered, because a cell can hold a million values.
    // A button inside a summary would be a button inside a button.
    return html`<div class="branch">${add}<details ?open=${isShown} @toggle=${(event: Event) => this.#onToggle(node, event)}>
      <summary>${summary}</summary>
      ${
        isShown
          ? html`${children
              .slice(0, numShown)
              .map(([key, child]) => this.#renderNode([...path, key], child, children.length <= 8))}
            ${
              children.length <= numShown
                ? nothing
                : html`<button @click=${() => this.#showMoreItems(node, numShown)}>
                    Show more (${formatCount(children.length - numShown)} left)
                  </button>`
            }`
          : nothing
      }
    </details></div>`;
  }

  /** The button that asks the page for a column of this part of the value. */
  #renderAdd(path: ViewerField["path"]) {
    const { viewer } = this.#host;
    const field = this.#inspected?.field;
    // The entries of maps have no fixed positions.
    const canAdd = viewer.fieldColumns && field && path.length > 0 && !/\bmap</.test(field.type);
    if (!canAdd) return nothing;
    const add = () => {
      this.close();
      const detail: ViewerField = { column: field.name, path };
      const options = { detail, bubbles: true, composed: true };
      viewer.dispatchEvent(new CustomEvent("colonnade-field", options));
    };
    return html`<button class="add" aria-label=${`Add as column: ${path.join(".")}`} @click=${add}>
      Add as column
    </button>`;
  }

  #onToggle(node: JsonNode, event: Event): void {
    const { open } = event.currentTarget as HTMLDetailsElement;
    if (this.#open.get(node) === open) return;
    this.#open.set(node, open);
    this.#host.requestUpdate();
  }

  #showMoreItems(node: JsonNode, numShown: number): void {
    this.#numItems.set(node, numShown + ITEMS_PER_PAGE);
    this.#host.requestUpdate();
  }

  #showMoreBytes(): void {
    this.#numBytes += BYTES_PER_PAGE;
    this.#host.requestUpdate();
  }

  readonly #onCopy = async () => {
    const text = this.#inspected?.content?.text ?? "";
    try {
      await toClipboard(Promise.resolve({ text: [text], html: undefined }), false);
      this.#copied = "Copied";
    } catch (thrown) {
      this.#copied = ColonnadeError.from(thrown, "copy_failed").message;
    }
    this.#host.requestUpdate();
  };

  readonly #onBackdrop = (event: MouseEvent) => {
    if (event.target === event.currentTarget) this.close();
  };

  readonly #onClose = ({ currentTarget }: Event) => {
    // The event comes with the next frame. By then, the dialog can be open again, or about to be.
    if (this.#isOpening || (currentTarget as HTMLDialogElement).open) return;
    this.#forget();
    this.#host.requestUpdate();
    this.#host.onClose();
  };

  #forget(): void {
    const image = this.#inspected?.content?.image;
    if (image !== undefined) URL.revokeObjectURL(image);
    this.#inspected = undefined;
    this.#copied = "";
    this.#open = new Map();
    this.#numItems = new Map();
    this.#numBytes = BYTES_PER_PAGE;
  }
}

function contentOf(text: string | null, { type }: Field): Content {
  const bytes = text !== null && /binary/.test(type) ? bytesOf(text) : undefined;
  const imageType = bytes && imageTypeOf(bytes);
  const image =
    bytes === undefined || imageType === undefined
      ? undefined
      : URL.createObjectURL(new Blob([bytes], { type: imageType }));
  const tree = text !== null && /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  return { text, tree, bytes, image };
}

/** Hides an image that a policy without `img-src blob:` blocks. Its bytes stay visible. */
function hide({ currentTarget }: Event): void {
  (currentTarget as HTMLElement).hidden = true;
}
