import { distinctNames } from "./distinct-names.js";

/** One column of a table. */
export interface Field {
  name: string;
  /** Arrow's type as pyarrow prints it, e.g. `timestamp[us, tz=UTC]` or `decimal128(12, 2)`. */
  type: string;
  nullable: boolean;
  metadata: Record<string, string>;
}

/** The columns of a table, in order. */
export interface Schema {
  fields: Field[];
  metadata: Record<string, string>;
}

const known = new WeakMap<readonly Field[], readonly Field[]>();

/** The fields with {@link distinctNames}. The same array gives the same result object. */
export function distinctFields(fields: readonly Field[]): readonly Field[] {
  const found = known.get(fields);
  if (found !== undefined) return found;
  const names = distinctNames(fields.map(({ name }) => name));
  const distinct = fields.map((field, index) => ({ ...field, name: names[index] ?? field.name }));
  known.set(fields, distinct);
  return distinct;
}

const NUMERIC = /^(u?int(8|16|32|64)|halffloat|float|double|decimal(32|64|128|256)?\b)/;

/** The type of the values: of a dictionary, of runs, or of an extension's storage. */
export function valueType(type: string): string {
  const inner =
    /^(?:dictionary<.*?values=|run_end_encoded<.*?values: |extension<.*?\[storage_type=)(.*)$/;
  return inner.exec(type)?.[1] ?? type;
}

/** Whether values of this Arrow type are numbers, which are aligned right. */
export function isNumericType(type: string): boolean {
  return NUMERIC.test(valueType(type));
}

/** How a column is filtered: by bounds, by text, by true and false, or only by whether it is null. */
export type FilterKind = "range" | "text" | "boolean" | "nulls";

/** How a column of this Arrow type is filtered. */
export function filterKindOf(type: string): FilterKind {
  const values = valueType(type);
  if (NUMERIC.test(values) || /^(?:date|time)/.test(values)) return "range";
  if (/^(?:large_)?string/.test(values)) return "text";
  return /^bool\b/.test(values) ? "boolean" : "nulls";
}

const UNORDERED =
  /^(?:null$|(?:large_)?list(?:_view)?<|fixed_size_list<|struct<|map<|sparse_union<|dense_union<)/;

/** Whether rows can be sorted by a column of this Arrow type. */
export function isSortableType(type: string): boolean {
  return !UNORDERED.test(valueType(type));
}
