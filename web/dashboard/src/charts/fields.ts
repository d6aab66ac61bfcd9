/** A column; the catalog and a schema both have these properties. */
export interface ChartField {
  name: string;
  /** The Arrow type as pyarrow prints it. */
  type: string;
}

/** How a chart can use a column. */
export type Role = "number" | "time" | "category";

const INTEGER = /^u?int(8|16|32|64)$/;
const NUMBER = /^(u?int(8|16|32|64)|halffloat|float|double|decimal(32|64|128|256)\(.*)$/;
const TEXT = /^(large_)?string(_view)?$/;

/** The type of the values of a dictionary or of runs. */
export function valueType(type: string): string {
  return (
    /^dictionary<values=(.*), indices=\w+, ordered=\w+>$/.exec(type)?.[1] ??
    /^run_end_encoded<run_ends: \w+, values: (.*)>$/.exec(type)?.[1] ??
    type
  );
}

/** Whether a column is dictionary-encoded or run-end-encoded. */
export function isEncoded({ type }: ChartField): boolean {
  return valueType(type) !== type;
}

/** How a chart can use a column; undefined for nested values, binary, times of day and the like. */
export function roleOf({ type }: ChartField): Role | undefined {
  const values = valueType(type);
  if (NUMBER.test(values)) return "number";
  if (/^(date(32|64)\[|timestamp\[)/.test(values)) return "time";
  return values === "bool" || TEXT.test(values) ? "category" : undefined;
}

/** Whether it holds integers. */
export function isInteger({ type }: ChartField): boolean {
  return INTEGER.test(valueType(type));
}

/** Whether it holds floats, which include NaN and infinities. */
export function isFloat({ type }: ChartField): boolean {
  return /^(halffloat|float|double)$/.test(valueType(type));
}

/** Whether its values can be the categories of bars, boxes or colours. */
export function isCategorical(field: ChartField): boolean {
  return roleOf(field) === "category" || isInteger(field);
}

/** The columns that charts can use. Columns that share a name cannot be named in SQL. */
export function chartFields<F extends ChartField>(fields: readonly F[]): F[] {
  const counts = new Map<string, number>();
  for (const { name } of fields) counts.set(name, (counts.get(name) ?? 0) + 1);
  return fields.filter((field) => counts.get(field.name) === 1 && roleOf(field) !== undefined);
}

const UNITS: Record<string, string> = {
  s: "Second",
  ms: "Millisecond",
  us: "Microsecond",
  ns: "Nanosecond",
};

const PLAIN: Record<string, string> = {
  bool: "Boolean",
  halffloat: "Float16",
  float: "Float32",
  double: "Float64",
  string: "Utf8",
  large_string: "LargeUtf8",
  string_view: "Utf8View",
  "date32[day]": "Date32",
  "date64[ms]": "Date64",
};

/** The name of a type for `arrow_cast`; undefined if predicates cannot compare the type. */
export function sqlType(type: string): string | undefined {
  const values = valueType(type);
  const plain = PLAIN[values];
  if (plain !== undefined) return plain;
  const int = /^(u?)int(\d+)$/.exec(values);
  if (int) return `${int[1] ? "UInt" : "Int"}${int[2]}`;
  const decimal = /^decimal(\d+)\((\d+), (-?\d+)\)$/.exec(values);
  if (decimal) return `Decimal${decimal[1]}(${decimal[2]}, ${decimal[3]})`;
  const time = /^(time32|time64|timestamp)\[(s|ms|us|ns)(?:, tz=(.*))?\]$/.exec(values);
  if (time) {
    const unit = UNITS[time[2] ?? ""];
    if (time[1] !== "timestamp") return `${time[1] === "time32" ? "Time32" : "Time64"}(${unit})`;
    return `Timestamp(${unit}, ${time[3] === undefined ? "None" : `Some("${time[3]}")`})`;
  }
  return undefined;
}

/** The number of a time column's units in a second; 0 for days. */
export function unitsPerSecond(type: string): bigint {
  const values = valueType(type);
  if (values.startsWith("date32")) return 0n;
  if (values.startsWith("date64")) return 1000n;
  const unit = /^timestamp\[(s|ms|us|ns)/.exec(values)?.[1] ?? "s";
  return { s: 1n, ms: 1000n, us: 1_000_000n, ns: 1_000_000_000n }[unit] ?? 1n;
}
