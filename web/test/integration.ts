// Reads Arrow's integration JSON, which has the values of the golden streams, without Arrow: for each
// value the text that a cell must show. https://arrow.apache.org/docs/format/Integration.html

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

/** A type as the JSON writes it. */
interface JsonType {
  name: string;
  bitWidth?: number;
  isSigned?: boolean;
  precision?: number | string;
  scale?: number;
  unit?: string;
  timezone?: string;
  byteWidth?: number;
  listSize?: number;
  mode?: string;
  typeIds?: number[];
}

interface JsonField {
  name: string;
  type: JsonType;
  nullable: boolean;
  children: JsonField[];
  dictionary?: { id: number; indexType: JsonType };
  metadata?: { key: string; value: string }[];
}

interface JsonColumn {
  count: number;
  VALIDITY?: number[];
  DATA?: unknown[];
  OFFSET?: (number | string)[];
  TYPE_ID?: number[];
  children?: JsonColumn[];
}

interface JsonBatch {
  count: number;
  columns: JsonColumn[];
}

interface JsonFile {
  schema: { fields: JsonField[]; metadata?: { key: string; value: string }[] };
  batches: JsonBatch[];
  dictionaries?: { id: number; data: JsonBatch }[];
}

/** The expected column: `raw` has its numbers, if it has any; null for null. */
export interface ExpectedColumn {
  name: string;
  nullable: boolean;
  metadata: Record<string, string>;
  text: (string | null)[];
  raw: (number | bigint | null)[] | undefined;
}

/** The expected table. */
export interface ExpectedTable {
  columns: ExpectedColumn[];
  metadata: Record<string, string>;
  numRows: number;
}

/** Reads a file of integration JSON, gzipped. */
export function readIntegrationJson(path: string): ExpectedTable {
  const json = gunzipSync(readFileSync(path)).toString();
  // Integers that a JavaScript number would round.
  const exact = json.replace(/([[,:]\s*)(-?\d{16,})(?=\s*[,\]}])/g, '$1"$2"');
  const file = JSON.parse(exact) as JsonFile;
  const reader = new Reader(file);
  const { fields, metadata } = file.schema;
  return {
    columns: fields.map((field, index) => reader.column(field, index)),
    metadata: pairs(metadata),
    numRows: file.batches.reduce((sum, { count }) => sum + count, 0),
  };
}

function pairs(metadata: { key: string; value: string }[] = []): Record<string, string> {
  return Object.fromEntries(metadata.map(({ key, value }) => [key, value]));
}

const RAW = /^(?:int|floatingpoint|bool|date|time|timestamp|duration)$/;
const TICKS_PER_SECOND: Record<string, bigint> = {
  SECOND: 1n,
  MILLISECOND: 1000n,
  MICROSECOND: 1_000_000n,
  NANOSECOND: 1_000_000_000n,
};

class Reader {
  readonly #file: JsonFile;

  constructor(file: JsonFile) {
    this.#file = file;
  }

  column(field: JsonField, index: number): ExpectedColumn {
    const text: (string | null)[] = [];
    const raw: (number | bigint | null)[] = [];
    for (const { columns, count } of this.#file.batches) {
      for (let row = 0; row < count; row++) {
        const [type, value] = this.#value(field, columns[index] as JsonColumn, row);
        text.push(value === null ? null : this.#text(type, value));
        raw.push(value === null ? null : rawOf(type.type, value));
      }
    }
    const { name, nullable, metadata, type } = field;
    const hasRaw = RAW.test(type.name);
    return { name, nullable, metadata: pairs(metadata), text, raw: hasRaw ? raw : undefined };
  }

  /** The value of a slot, resolved through dictionaries and unions, and its field. */
  #value(field: JsonField, column: JsonColumn, row: number): [JsonField, unknown] {
    const { type, dictionary, children } = field;
    if (type.name === "null" || column.VALIDITY?.[row] === 0) return [field, null];
    if (dictionary !== undefined) {
      const { dictionary: _, ...values } = field;
      const found = this.#file.dictionaries?.find(({ id }) => id === dictionary.id);
      return this.#value(values, found?.data.columns[0] as JsonColumn, Number(column.DATA?.[row]));
    }
    const inside = column.children ?? [];
    const offset = (at: number) => Number(column.OFFSET?.[at]);
    const items = (start: number, end: number) =>
      Array.from({ length: end - start }, (_, item) => [children[0], inside[0], start + item]);
    switch (type.name) {
      case "union": {
        const child = (type.typeIds as number[]).indexOf(Number(column.TYPE_ID?.[row]));
        const at = type.mode === "DENSE" ? offset(row) : row;
        return this.#value(children[child] as JsonField, inside[child] as JsonColumn, at);
      }
      case "list":
      case "largelist":
      case "map":
        return [field, items(offset(row), offset(row + 1))];
      case "fixedsizelist": {
        const size = type.listSize as number;
        return [field, items(row * size, (row + 1) * size)];
      }
      case "struct":
        return [field, children.map((child, index) => [child, inside[index], row])];
      default:
        return [field, column.DATA?.[row]];
    }
  }

  #text({ type, children }: JsonField, value: unknown): string {
    switch (type.name) {
      case "list":
      case "largelist":
      case "fixedsizelist":
        return `[${(value as Slot[]).map((slot) => this.#json(slot)).join(",")}]`;
      case "struct":
        return `{${(value as Slot[]).map((slot) => `${JSON.stringify(slot[0].name)}:${this.#json(slot)}`).join(",")}}`;
      case "map": {
        const entries = (value as Slot[]).map(([entry, { children: parts = [] }, at]) =>
          [0, 1].map((part) =>
            this.#json([entry.children[part] as JsonField, parts[part] as JsonColumn, at]),
          ),
        );
        return `[${entries.map((entry) => `[${entry.join(",")}]`).join(",")}]`;
      }
      default:
        return children.length === 0 ? plainText(type, value) : "";
    }
  }

  #json([field, column, row]: Slot): string {
    const [found, value] = this.#value(field, column, row);
    if (value === null) return "null";
    const text = this.#text(found, value);
    const isBare = /^(?:int|bool|decimal|list|largelist|fixedsizelist|struct|map)$/;
    if (isBare.test(found.type.name) || Number.isFinite(value)) return text;
    return JSON.stringify(/binary/.test(found.type.name) ? text.split(" ")[0] : text);
  }
}

type Slot = [JsonField, JsonColumn, number];

function rawOf(type: JsonType, value: unknown): number | bigint | null {
  const isWide = type.name === "timestamp" || type.name === "duration" || type.bitWidth === 64;
  if (isWide || type.unit === "MILLISECOND") {
    return type.name === "time" && type.bitWidth === 32 ? Number(value) : BigInt(value as string);
  }
  if (type.name === "floatingpoint" && type.precision === "SINGLE") {
    return Math.fround(value as number);
  }
  return Number(value);
}

function plainText(type: JsonType, value: unknown): string {
  switch (type.name) {
    case "bool":
      return value ? "true" : "false";
    case "binary":
    case "largebinary":
    case "fixedsizebinary": {
      const hex = (value as string).toLowerCase();
      const numBytes = hex.length / 2;
      return `${hex}${hex ? " " : ""}(${numBytes} byte${numBytes === 1 ? "" : "s"})`;
    }
    case "decimal": {
      const scale = type.scale as number;
      const [sign, digits] = /^(-?)(\d+)$/.exec(value as string)?.slice(1) as [string, string];
      const padded = digits.padStart(scale + 1, "0");
      return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
    }
    case "date": {
      const perDay = type.unit === "DAY" ? 1n : 86_400_000n;
      return stampText(BigInt(value as string), perDay, type.unit === "DAY" ? 0 : 3);
    }
    case "time": {
      const perSecond = TICKS_PER_SECOND[type.unit as string] as bigint;
      const ticks = BigInt(value as string);
      // The format ends the day before 24:00:00.
      const isTime = ticks >= 0n && ticks < 86_400n * perSecond;
      return isTime ? clockText(ticks, perSecond) : `${ticks} (not a time of day)`;
    }
    case "timestamp":
      return timestampText(type, BigInt(value as string));
    case "duration": {
      const perSecond = TICKS_PER_SECOND[type.unit as string] as bigint;
      const ticks = BigInt(value as string);
      const size = ticks < 0n ? -ticks : ticks;
      const days = size / (86_400n * perSecond);
      const clock = clockText(size % (86_400n * perSecond), perSecond);
      return `${ticks < 0n ? "-" : ""}${days > 0n ? `${days}d ` : ""}${clock}`;
    }
    case "interval":
      return intervalText(type, value);
    default:
      return String(value);
  }
}

/** `hh:mm:ss` and the fraction of the unit. */
function clockText(ticks: bigint, perSecond: bigint): string {
  const seconds = ticks / perSecond;
  const parts = [seconds / 3600n, (seconds / 60n) % 60n, seconds % 60n];
  const clock = parts.map((part) => String(part).padStart(2, "0")).join(":");
  const digits = String(perSecond).length - 1;
  const fraction = String(ticks % perSecond).padStart(digits, "0");
  return digits === 0 ? clock : `${clock}.${fraction}`;
}

function dayText(days: bigint): string {
  const [year, rest] = new Date(Number(days) * 86_400_000).toISOString().split(/(?<=\d)-(.*)T/);
  return `${String(Number(year)).padStart(4, "0")}-${rest}`;
}

/** A date, and its time of day if it has one. */
function stampText(ticks: bigint, perDay: bigint, digits: number): string {
  const inDay = ((ticks % perDay) + perDay) % perDay;
  const day = dayText((ticks - inDay) / perDay);
  return inDay === 0n ? day : `${day} ${clockText(inDay, 10n ** BigInt(digits))}`;
}

function timestampText({ unit, timezone }: JsonType, ticks: bigint): string {
  const perSecond = TICKS_PER_SECOND[unit as string] as bigint;
  const perDay = 86_400n * perSecond;
  const write = (local: bigint) => {
    const inDay = ((local % perDay) + perDay) % perDay;
    return `${dayText((local - inDay) / perDay)} ${clockText(inDay, perSecond)}`;
  };
  if (timezone === undefined) return write(ticks);
  if (timezone === "UTC") return `${write(ticks)}Z`;
  const inSecond = ((ticks % perSecond) + perSecond) % perSecond;
  const offset = offsetSeconds(timezone, (ticks - inSecond) / perSecond);
  const size = Math.abs(offset);
  const parts = [size / 3600, (size / 60) % 60, ...(size % 60 === 0 ? [] : [size % 60])];
  const digits = parts.map((part) => String(Math.trunc(part)).padStart(2, "0")).join("");
  return `${write(ticks + BigInt(offset) * perSecond)}${offset < 0 ? "-" : "+"}${digits}`;
}

/** The offset of a zone, from the local time that the platform shows there. */
function offsetSeconds(timeZone: string, seconds: bigint): number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    era: "short",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const parts = Object.fromEntries(
    format.formatToParts(Number(seconds) * 1000).map(({ type, value }) => [type, value]),
  );
  const number = (name: string) => Number(parts[name]);
  const year = parts.era === "BC" ? 1 - number("year") : number("year");
  const wall = new Date(0);
  wall.setUTCFullYear(year, number("month") - 1, number("day"));
  wall.setUTCHours(number("hour"), number("minute"), number("second"));
  return wall.getTime() / 1000 - Number(seconds);
}

function intervalText({ unit }: JsonType, value: unknown): string {
  const parts: [number | bigint, string][] =
    unit === "YEAR_MONTH"
      ? [
          [Math.trunc((value as number) / 12), "y"],
          [(value as number) % 12, "mo"],
        ]
      : [
          [(value as { days: number }).days, "d"],
          [(value as { milliseconds: number }).milliseconds, "ms"],
        ];
  const texts = parts.filter(([count]) => count !== 0).map(([count, name]) => `${count}${name}`);
  return texts.join(" ") || (unit === "YEAR_MONTH" ? "0mo" : "0ms");
}
