import { afterEach, expect, test, vi } from "vitest";
// @ts-expect-error the notebook's front end is plain JavaScript
import widget from "../../python/src/colonnade/widget.js";

/** A widget's model, which outlives its views. */
class FakeModel {
  readonly listeners: [event: string, listener: unknown][] = [];
  readonly sent: unknown[] = [];
  get(name: string): unknown {
    return { _version: "1", height: 400, theme: "auto", state: {}, selection: null }[name];
  }
  on(event: string, listener: unknown): void {
    this.listeners.push([event, listener]);
  }
  off(event: string, listener: unknown): void {
    const index = this.listeners.findIndex(([name, each]) => name === event && each === listener);
    if (index >= 0) this.listeners.splice(index, 1);
  }
  send(message: unknown): void {
    this.sent.push(message);
  }
}

/** As much of an element as the widget uses. */
class FakeElement extends EventTarget {
  dataset = {};
  className = "";
  style = {};
  state = {};
  selection = null;
  ready = Promise.resolve();
  setAttribute(): void {}
  append(): void {}
  prepend(): void {}
  remove(): void {}
}

afterEach(() => vi.unstubAllGlobals());

test("a removed view of a notebook's widget listens to nothing", async () => {
  const body = new FakeElement();
  const createElement = () => new FakeElement();
  vi.stubGlobal("document", { body, documentElement: body, createElement });
  vi.stubGlobal(
    "MutationObserver",
    class {
      observe(): void {}
      disconnect(): void {}
    },
  );
  const modules = (globalThis as unknown as Record<symbol, Map<string, unknown>>)[
    Symbol.for("colonnade.modules")
  ];
  modules?.set("1", Promise.resolve());
  const model = new FakeModel();
  for (let view = 0; view < 3; view++) {
    const remove = await widget.render({ model, el: new FakeElement() });
    await expect.poll(() => model.listeners.map(([event]) => event)).toContain("change:selection");
    remove();
    expect(model.listeners).toEqual([]);
  }
});
