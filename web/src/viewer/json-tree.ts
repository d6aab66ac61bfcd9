/** A JSON value that keeps all digits, repeated names and the order of members. */
export type JsonNode =
  | { kind: "object"; members: [name: string, value: JsonNode][] }
  | { kind: "array"; items: JsonNode[] }
  | { kind: "string"; text: string }
  /** A number, `true`, `false` or `null`, as it is written. */
  | { kind: "literal"; text: string };

/** Values nested deeper than this are shown as text. */
const MAX_DEPTH = 200;
const TOKEN =
  /\s*([[\]{}:,]|"(?:[^"\\]|\\.)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)\s*/y;

/** Parses JSON; undefined if the text is not JSON, or nested too deeply. */
export function parseJson(text: string): JsonNode | undefined {
  const parser = new Parser(text);
  try {
    const node = parser.value(0);
    return parser.isAtEnd ? node : undefined;
  } catch {
    return undefined;
  }
}

class Parser {
  readonly #text: string;
  #offset = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#offset === this.#text.length;
  }

  value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw new SyntaxError("Nested too deeply.");
    const token = this.#next();
    if (token === "[")
      return { kind: "array", items: this.#list("]", () => this.value(depth + 1)) };
    if (token === "{") {
      const member = (): [string, JsonNode] => {
        const name = stringOf(this.#next());
        if (this.#next() !== ":") throw new SyntaxError("A name without a value.");
        return [name, this.value(depth + 1)];
      };
      return { kind: "object", members: this.#list("}", member) };
    }
    if (token.startsWith('"')) return { kind: "string", text: stringOf(token) };
    if (/^[\]}:,]$/.test(token)) throw new SyntaxError("A value is missing.");
    return { kind: "literal", text: token };
  }

  #list<T>(end: string, read: () => T): T[] {
    const items: T[] = [];
    const before = this.#offset;
    if (this.#next() === end) return items;
    this.#offset = before;
    for (;;) {
      items.push(read());
      const token = this.#next();
      if (token === end) return items;
      if (token !== ",") throw new SyntaxError("A comma is missing.");
    }
  }

  #next(): string {
    TOKEN.lastIndex = this.#offset;
    const token = TOKEN.exec(this.#text)?.[1];
    if (token === undefined) throw new SyntaxError("No JSON.");
    this.#offset = TOKEN.lastIndex;
    return token;
  }
}

function stringOf(token: string): string {
  return JSON.parse(token) as string;
}
