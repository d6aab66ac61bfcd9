// The front end of `colonnade.show` in a notebook's page: a <colonnade-viewer> whose requests go to
// the kernel as messages of the widget.

/** The viewer's module by the version of the Python package; all widgets of a page share it. */
const MODULES = Symbol.for("colonnade.modules");
globalThis[MODULES] ??= new Map();
const modules = globalThis[MODULES];

/** After this time without a response, a notice says that the kernel is busy. */
const NOTICE_DELAY_MS = 3000;

const GONE = {
  code: "kernel_gone",
  detail: "The kernel that held these rows was restarted or has ended.",
  hint: "Run the cell again.",
};

/** Sends requests to the kernel over a widget's messages; each gets one response. */
class Kernel {
  #model;
  #prefix = Math.random().toString(36).slice(2);
  #count = 0;
  #pending = new Map();
  #report;
  #unsubscribe;
  isGone = false;

  /** @param report called with "gone", "waiting" or "here" when the kernel's state changes */
  constructor(model, report) {
    this.#model = model;
    this.#report = report;
    this.#unsubscribe = subscribe(model, {
      "msg:custom": (content, buffers) => this.#receive(content, buffers),
      // Sent when the front end has lost the kernel; the connection is then never restored.
      comm_live_update: () => this.#onGone(),
    });
  }

  /** A new id for requests that belong together. */
  id() {
    return `${this.#prefix}-${this.#count++}`;
  }

  /** Resolves with the response and its bytes; rejects when the kernel is gone. */
  request(message, buffers = []) {
    if (this.isGone) return Promise.reject(new Error(GONE.detail));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#report("waiting"), NOTICE_DELAY_MS);
      this.#pending.set(message.id, { resolve, reject, timer });
      this.send(message, buffers);
    });
  }

  /** Sends a message that has no response. */
  send(message, buffers = []) {
    if (!this.isGone) this.#model.send(message, undefined, buffers);
  }

  #receive(content, buffers) {
    const pending = this.#pending.get(content.id);
    if (pending === undefined) return;
    this.#pending.delete(content.id);
    clearTimeout(pending.timer);
    this.#report("here");
    pending.resolve({ content, bytes: buffers.length > 0 ? bytesOf(buffers[0]) : undefined });
  }

  #onGone() {
    this.isGone = true;
    this.close();
    this.#report("gone");
  }

  /** Rejects all pending requests, and receives nothing more. */
  close() {
    this.#unsubscribe();
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(new Error(GONE.detail));
    }
    this.#pending.clear();
  }
}

/** Adds handlers to a model, by the names of their events; the returned function removes them. */
function subscribe(model, handlers) {
  for (const [name, handler] of Object.entries(handlers)) model.on(name, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) model.off(name, handler);
  };
}

function bytesOf(buffer) {
  return ArrayBuffer.isView(buffer)
    ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    : new Uint8Array(buffer);
}

/** The viewer's `fetch`, which requests each chunk of a body when it is read. */
function fetchFrom(kernel) {
  return async (url, { method = "GET", body, signal }) => {
    if (kernel.isGone) return Response.json(GONE, { status: 410 });
    const id = kernel.id();
    const cancel = () => kernel.send({ id, do: "cancel" });
    signal?.addEventListener("abort", cancel);
    const buffers = body ? [bytesOf(body)] : [];
    const { content, bytes } = await kernel.request({ id, do: "ask", method, url }, buffers);
    const { status, headers } = content;
    if (status === 204) return new Response(null, { status, headers });
    let next = { content, bytes };
    const pull = async (controller) => {
      const { content: message, bytes: chunk } = next ?? (await kernel.request({ id, do: "next" }));
      next = undefined;
      if (message.error) controller.error(new TypeError(message.error));
      else if (chunk === undefined) {
        signal?.removeEventListener("abort", cancel);
        controller.close();
      } else controller.enqueue(chunk);
    };
    return new Response(new ReadableStream({ pull, cancel }), { status, headers });
  };
}

/** Loads the module that defines <colonnade-viewer>, which the kernel's package contains. */
function loadViewer(kernel, version) {
  // Another widget may be loading the module; if that widget is removed meanwhile, this one loads it.
  const known = modules.get(version);
  if (known !== undefined) return known.catch(() => loadViewer(kernel, version));
  const loading = kernel.request({ id: kernel.id(), do: "module" }).then(({ bytes }) => {
    const url = URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));
    return import(/* @vite-ignore */ url);
  });
  modules.set(version, loading);
  loading.catch(() => modules.delete(version));
  return loading;
}

/** The theme of JupyterLab, VS Code or marimo; "auto" if unknown. */
function pageTheme() {
  const { body, documentElement: root } = document;
  const isLight = body.dataset.jpThemeLight;
  if (isLight !== undefined) return isLight === "true" ? "light" : "dark";
  const names = `${body.className} ${root.className}`;
  if (/\b(vscode-dark|vscode-high-contrast|dark|dark-theme)\b/.test(names)) return "dark";
  return /\b(vscode-light|light|light-theme)\b/.test(names) ? "light" : "auto";
}

/** A selection as JSON, in which an infinite end becomes null. */
function plainSelection(selection) {
  return JSON.parse(JSON.stringify(selection));
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

async function render({ model, el }) {
  // JupyterLab handles keys before the viewer unless this is set; other front ends after it.
  el.dataset.lmSuppressShortcuts = "true";
  el.addEventListener("keydown", (event) => event.stopPropagation());
  const notice = document.createElement("div");
  notice.setAttribute("role", "status");
  notice.className = "colonnade-notice";
  el.append(notice);
  const kernel = new Kernel(model, (status) => {
    if (kernel.isGone) notice.textContent = `${GONE.detail} ${GONE.hint}`;
    else if (status === "waiting") {
      notice.textContent = "Waiting for the kernel, which is busy or not running.";
    } else notice.textContent = "";
  });
  const removed = new AbortController();
  const { signal } = removed;
  loadViewer(kernel, model.get("_version")).then(
    () => {
      if (!signal.aborted) show(model, el, kernel, signal);
    },
    (error) => {
      if (!kernel.isGone) notice.textContent = `The viewer could not be loaded: ${error.message}`;
    },
  );
  return () => {
    removed.abort();
    kernel.close();
  };
}

function show(model, el, kernel, signal) {
  const viewer = document.createElement("colonnade-viewer");
  viewer.fetch = fetchFrom(kernel);
  viewer.memory = `${model.get("_memory_bytes")}`;
  // A host of its own, because the page limits the connections to each host.
  viewer.src = `https://${kernel.id()}.kernel.invalid/v1/tables/data/rows`;

  const follow = (name, apply) => {
    if (signal.aborted) return;
    apply();
    signal.addEventListener("abort", subscribe(model, { [`change:${name}`]: apply }));
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

  const save = (name, value) => {
    if (kernel.isGone || isSame(value, model.get(name))) return;
    model.set(name, value);
    model.save_changes();
  };
  const listen = (name, listener) => viewer.addEventListener(name, listener, { signal });
  listen("colonnade-state", () => save("state", viewer.state));
  listen("colonnade-selection", () => save("selection", plainSelection(viewer.selection)));

  el.prepend(viewer);
  signal.addEventListener("abort", () => {
    observer.disconnect();
    viewer.remove();
  });
}

export default { render };
