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

const NUMERIC = /^(u?int(8|16|32|64)|halffloat|float|double|decimal(32|64|128|256)?\b)/;

/**
 * Whether values of this Arrow type read as numbers, to be aligned at the right. Dictionaries and
 * run-end-encoded columns are what their values are, extensions what they are stored as.
 */
export function isNumericType(type: string): boolean {
  const inner =
    /^(?:dictionary<.*?values=|run_end_encoded<.*?values: |extension<.*?\[storage_type=)(.*)$/;
  return NUMERIC.test(inner.exec(type)?.[1] ?? type);
}

const UNORDERED =
  /^(?:null$|(?:large_)?list(?:_view)?<|fixed_size_list<|struct<|map<|sparse_union<|dense_union<|run_end_encoded<.*values: (?:list|struct|map))/;

/** Whether rows can be sorted by a column of this Arrow type. */
export function isSortableType(type: string): boolean {
  const storage = /^extension<.*?\[storage_type=(.*)$/.exec(type)?.[1] ?? type;
  return !UNORDERED.test(storage);
}
