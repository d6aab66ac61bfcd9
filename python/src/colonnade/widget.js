// What runs in the notebook's page for `colonnade.show`: a <colonnade-viewer> whose requests the
// kernel answers, through messages of the widget.

/** The viewer's code by the version of the Python package: asked for once by all widgets of a page. */
const MODULES = Symbol.for("colonnade.modules");
globalThis[MODULES] ??= new Map();
const modules = globalThis[MODULES];

/** After so long without an answer the reader is told whom we wait for. */
const PATIENCE_MS = 3000;

const GONE = {
  code: "kernel_gone",
  detail: "The kernel that held these rows was restarted or has ended.",
  hint: "Run the cell again.",
};

/** Requests to the kernel over a widget's messages, each answered once. */
class Kernel {
  #model;
  #prefix = Math.random().toString(36).slice(2);
  #count = 0;
  #pending = new Map();
  #tell;
  isGone = false;

  /** `tell` is told "gone", "waiting" or "here". */
  constructor(model, tell) {
    this.#model = model;
    this.#tell = tell;
    model.on("msg:custom", (content, buffers) => this.#hear(content, buffers));
    // Told once more when the front end has lost the kernel; then it never comes back.
    model.on("comm_live_update", () => this.#lose());
  }

  /** An id for requests that belong together. */
  id() {
    return `${this.#prefix}-${this.#count++}`;
  }

  /** Resolves with the answer and its bytes; rejects when the kernel is gone. */
  ask(message, buffers = []) {
    if (this.isGone) return Promise.reject(new Error(GONE.detail));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#tell("waiting"), PATIENCE_MS);
      this.#pending.set(message.id, { resolve, reject, timer });
      this.say(message, buffers);
    });
  }

  /** Says something that has no answer. */
  say(message, buffers = []) {
    if (!this.isGone) this.#model.send(message, undefined, buffers);
  }

  #hear(content, buffers) {
    const asked = this.#pending.get(content.id);
    if (asked === undefined) return;
    this.#pending.delete(content.id);
    clearTimeout(asked.timer);
    this.#tell("here");
    asked.resolve({ content, bytes: buffers.length > 0 ? bytesOf(buffers[0]) : undefined });
  }

  #lose() {
    this.isGone = true;
    this.leave();
    this.#tell("gone");
  }

  /** Rejects what was asked: the answers are not heard any more. */
  leave() {
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(new Error(GONE.detail));
    }
    this.#pending.clear();
  }
}

function bytesOf(buffer) {
  return ArrayBuffer.isView(buffer)
    ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    : new Uint8Array(buffer);
}

/** What the viewer takes for `fetch`: each piece of a body is asked for when it is wanted. */
function fetchFrom(kernel) {
  return async (url, { method = "GET", body, signal }) => {
    if (kernel.isGone) return Response.json(GONE, { status: 410 });
    const id = kernel.id();
    const cancel = () => kernel.say({ id, do: "cancel" });
    signal?.addEventListener("abort", cancel);
    const buffers = body ? [bytesOf(body)] : [];
    const { content, bytes } = await kernel.ask({ id, do: "ask", method, url }, buffers);
    const { status, headers } = content;
    if (status === 204) return new Response(null, { status, headers });
    let next = { content, bytes };
    const pull = async (controller) => {
      const { content: answer, bytes: piece } = next ?? (await kernel.ask({ id, do: "next" }));
      next = undefined;
      if (answer.error) controller.error(new Error(answer.error));
      else if (piece === undefined) {
        signal?.removeEventListener("abort", cancel);
        controller.close();
      } else controller.enqueue(piece);
    };
    return new Response(new ReadableStream({ pull, cancel }), { status, headers });
  };
}

/** The module with <colonnade-viewer> inside, which the kernel's package brings. */
function loadViewer(kernel, version) {
  // Another view has asked; should it be taken away before the answer, this one asks.
  const asked = modules.get(version);
  if (asked !== undefined) return asked.catch(() => loadViewer(kernel, version));
  const loading = kernel.ask({ id: kernel.id(), do: "module" }).then(({ bytes }) => {
    const url = URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));
    return import(/* @vite-ignore */ url);
  });
  modules.set(version, loading);
  loading.catch(() => modules.delete(version));
  return loading;
}

/** What JupyterLab, VS Code and marimo say of their theme; "auto" where they say nothing. */
function pageTheme() {
  const { body, documentElement: root } = document;
  const isLight = body.dataset.jpThemeLight;
  if (isLight !== undefined) return isLight === "true" ? "light" : "dark";
  const names = `${body.className} ${root.className}`;
  if (/\b(vscode-dark|vscode-high-contrast|dark|dark-theme)\b/.test(names)) return "dark";
  return /\b(vscode-light|light|light-theme)\b/.test(names) ? "light" : "auto";
}

/** A selection as JSON: rows that are still to come have no end. */
function plainSelection(selection) {
  return JSON.parse(JSON.stringify(selection));
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

async function render({ model, el }) {
  // Keys are the viewer's; JupyterLab sees them first and asks for this, others bubble.
  el.dataset.lmSuppressShortcuts = "true";
  el.addEventListener("keydown", (event) => event.stopPropagation());
  const notice = document.createElement("div");
  notice.setAttribute("role", "status");
  notice.className = "colonnade-notice";
  el.append(notice);
  const kernel = new Kernel(model, (word) => {
    if (kernel.isGone) notice.textContent = `${GONE.detail} ${GONE.hint}`;
    else if (word === "waiting") {
      notice.textContent = "Waiting for the kernel, which is busy or not running.";
    } else notice.textContent = "";
  });
  const left = new AbortController();
  const { signal } = left;
  loadViewer(kernel, model.get("_version")).then(
    () => {
      if (!signal.aborted) show(model, el, kernel, signal);
    },
    (error) => {
      if (!kernel.isGone) notice.textContent = `The viewer could not be loaded: ${error.message}`;
    },
  );
  return () => {
    left.abort();
    kernel.leave();
  };
}

function show(model, el, kernel, signal) {
  const viewer = document.createElement("colonnade-viewer");
  viewer.fetch = fetchFrom(kernel);
  viewer.memory = `${model.get("_memory_bytes")}`;
  // Addresses of its own: the page gives each host only so many connections.
  viewer.src = `https://${kernel.id()}.kernel.invalid/v1/tables/data/rows`;

  const follow = (name, apply) => {
    apply();
    model.on(`change:${name}`, () => !signal.aborted && apply());
  };
  follow("height", () => {
    viewer.style.height = `${model.get("height")}px`;
  });
  const applyTheme = () => {
    const theme = model.get("theme");
    viewer.theme = theme === "auto" ? pageTheme() : theme;
  };
  follow("theme", applyTheme);
  const observer = new MutationObserver(applyTheme);
  const options = { attributes: true, attributeFilter: ["class", "data-jp-theme-light"] };
  observer.observe(document.body, options);
  observer.observe(document.documentElement, options);
  follow("state", () => {
    const state = model.get("state");
    if (!isSame(state, viewer.state)) viewer.state = state;
  });
  viewer.ready.then(
    () => {
      follow("selection", () => {
        const selection = model.get("selection");
        if (!isSame(selection, plainSelection(viewer.selection))) viewer.selection = selection;
      });
    },
    () => undefined, // the viewer shows why
  );

  const tell = (name, value) => {
    if (kernel.isGone || isSame(value, model.get(name))) return;
    model.set(name, value);
    model.save_changes();
  };
  const listen = (name, listener) => viewer.addEventListener(name, listener, { signal });
  listen("colonnade-state", () => tell("state", viewer.state));
  listen("colonnade-selection", () => tell("selection", plainSelection(viewer.selection)));

  el.prepend(viewer);
  signal.addEventListener("abort", () => {
    observer.disconnect();
    viewer.remove();
  });
}

export default { render };
