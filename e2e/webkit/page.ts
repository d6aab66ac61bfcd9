import { type Actions, Button, Key, type WebDriver, type WebElement } from "selenium-webdriver";

interface Wheel {
  scroll(x: number, y: number, deltaX: number, deltaY: number, origin: WebElement): Actions;
}

/** How long an element may take to appear, in ms. */
const WAIT_MS = 30_000;

/** A page in WebKitGTK: as much of Playwright's `Page` as the tests need. */
export class WebKitPage {
  readonly #driver: WebDriver;
  readonly #locatorScript: string;

  constructor(driver: WebDriver, locatorScript: string) {
    this.#driver = driver;
    this.#locatorScript = locatorScript;
  }

  async goto(url: string): Promise<void> {
    await this.#driver.get(url);
    await this.#driver.executeScript(`
      ${this.#locatorScript}
      window.found = ivya.Ivya.create({ browser: "webkit", testIdAttribute: "data-testid" });
      window.errors = [];
      addEventListener("error", ({ message }) => errors.push(message));
      addEventListener("unhandledrejection", ({ reason }) => errors.push(String(reason)));`);
  }

  /** What the page has thrown since it was loaded. */
  errors(): Promise<string[]> {
    return this.#driver.executeScript("return window.errors");
  }

  /** Runs a function in the page, and resolves with its result. */
  async evaluate<A extends unknown[], R>(run: (...args: A) => R, ...args: A): Promise<Awaited<R>> {
    const outcome: { value: Awaited<R>; error?: string } = await this.#driver.executeAsyncScript(
      `const args = [...arguments];
      const done = args.pop();
      (async () => (${run})(...args))().then(
        (value) => done({ value }),
        (error) => done({ error: String(error) }),
      );`,
      ...args,
    );
    if (outcome.error !== undefined) throw new Error(outcome.error);
    return outcome.value;
  }

  /** @param selector as of Playwright's `page.locator` */
  locator(selector: string): WebKitLocator {
    return new WebKitLocator(this.#driver, selector);
  }

  /** @param name a part of the element's name, whatever its case; or the beginning of it */
  getByRole(role: string, name?: string | RegExp): WebKitLocator {
    return this.locator(
      `internal:role=${role}${name === undefined ? "" : `[name=${quote(name)}]`}`,
    );
  }

  getByLabel(label: string): WebKitLocator {
    return this.locator(`internal:label=${quote(label)}`);
  }

  /** The cell in the 0-based row `row` and the column with the 1-based `aria-colindex` `column`. */
  cell(row: number, column: number): WebKitLocator {
    return this.locator(
      `css=[role=row][aria-rowindex="${row + 2}"] [role=gridcell][aria-colindex="${column}"]`,
    );
  }

  /** Presses a key or a chord: `Enter`, `Control+c`. */
  async press(chord: string): Promise<void> {
    const keys = chord.split("+");
    const key = keyOf(keys.pop() ?? "");
    const actions = this.#driver.actions();
    for (const held of keys) actions.keyDown(keyOf(held));
    actions.sendKeys(key);
    for (const held of keys.reverse()) actions.keyUp(keyOf(held));
    await actions.perform();
  }

  async type(text: string): Promise<void> {
    await this.#driver.actions().sendKeys(text).perform();
  }

  async screenshot(): Promise<Buffer> {
    return Buffer.from(await this.#driver.takeScreenshot(), "base64");
  }
}

/** An element that is looked up whenever something is done with it. */
export class WebKitLocator {
  constructor(
    private readonly driver: WebDriver,
    private readonly selector: string,
  ) {}

  count(): Promise<number> {
    return this.#all("elements.length");
  }

  /** The texts of all such elements. */
  texts(): Promise<string[]> {
    return this.#all("elements.map((element) => element.textContent)");
  }

  /** The text; empty if there is no such element yet. */
  async text(): Promise<string> {
    return (await this.texts())[0] ?? "";
  }

  /** The value of an attribute; null if there is none. */
  attribute(name: string): Promise<string | null> {
    return this.#all("elements[0]?.getAttribute(arguments[1]) ?? null", name);
  }

  /** Waits until the element is in the page. */
  waitFor(): Promise<WebElement> {
    return this.driver.wait<WebElement>(
      () => this.#all<WebElement | null>("elements[0] ?? null"),
      WAIT_MS,
      `there is no ${this.selector}`,
    );
  }

  /** Clicks the middle of the element. @param held a key that is held meanwhile */
  async click(held?: "Shift" | "Control"): Promise<void> {
    const actions = this.driver.actions();
    await actions.clear();
    const target = await this.#inView();
    if (held !== undefined) actions.keyDown(keyOf(held));
    actions.move({ origin: target, duration: 0 }).press(Button.LEFT).release(Button.LEFT);
    if (held !== undefined) actions.keyUp(keyOf(held));
    await actions.perform();
  }

  /** Replaces the text of a field. */
  async fill(text: string): Promise<void> {
    await this.click();
    const select = this.driver.actions().keyDown(Key.CONTROL).sendKeys("a").keyUp(Key.CONTROL);
    await select.sendKeys(Key.DELETE, text).perform();
  }

  /** Turns the wheel over the element. */
  async wheel(deltaY: number): Promise<void> {
    const origin = await this.#inView();
    // The types lack it.
    const actions = this.driver.actions() as Actions & Wheel;
    await actions.scroll(0, 0, 0, deltaY, origin).perform();
  }

  async focus(): Promise<void> {
    await this.driver.executeScript("arguments[0].focus()", await this.waitFor());
  }

  async #inView(): Promise<WebElement> {
    const element = await this.waitFor();
    await this.driver.executeScript("arguments[0].scrollIntoView({ block: 'nearest' })", element);
    return element;
  }

  #all<T>(expression: string, ...args: unknown[]): Promise<T> {
    return this.driver.executeScript(
      `const elements = window.found?.queryLocatorSelectorAll(arguments[0]) ?? [];
      return ${expression};`,
      this.selector,
      ...args,
    );
  }
}

function quote(text: string | RegExp): string {
  return text instanceof RegExp ? String(text) : `${JSON.stringify(text)}i`;
}

function keyOf(name: string): string {
  const known: Record<string, string> = Key as never;
  return known[name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase()] ?? name;
}
