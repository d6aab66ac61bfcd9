/** A value to compare a column with. Values that a number cannot hold exactly are texts or bigints. */
export type PredicateValue = string | number | bigint | boolean;

/**
 * A filter of rows, as `POST /v1/query` takes it. Dates and times are texts
 * (`2024-07-01T12:00:00Z`), binary is hex. `contains` and `starts_with` apply to text, integers and
 * booleans.
 */
export type Predicate =
  | { op: "eq" | "ne" | "lt" | "le" | "gt" | "ge"; column: string; value: PredicateValue }
  | { op: "in"; column: string; value: readonly PredicateValue[] }
  | { op: "is_null" | "not_null"; column: string }
  | { op: "contains" | "starts_with"; column: string; value: string }
  | MatchesPredicate
  | { and: readonly Predicate[] }
  | { or: readonly Predicate[] }
  | { not: Predicate };

/**
 * Rows with a cell whose text contains `value`, as `find` searches: in these columns, by default in all, and by
 * default without regard to case. No cell of a row that does not match is unknown, so its opposite is true.
 */
export interface MatchesPredicate {
  op: "matches";
  value: string;
  columns?: readonly string[];
  match_case?: boolean;
}

/** Whether a value from outside can be read as a predicate; who evaluates it checks its operators and values. */
export function isPredicate(value: unknown): boolean {
  const { or, and = or, not, op, column, columns, value: operand } = Object(value);
  if (and !== undefined) return Array.isArray(and) && and.every(isPredicate);
  if (not !== undefined) return isPredicate(not);
  if (op === "matches") return typeof operand === "string" && isListOrNone(columns);
  const isOperand = op !== "in" || Array.isArray(operand);
  return typeof op === "string" && typeof column === "string" && isOperand;
}

function isListOrNone(value: unknown): boolean {
  return value === undefined || Array.isArray(value);
}

/** A predicate as JSON. Numbers that JSON cannot hold exactly become texts. */
export function predicateJson(predicate: Predicate): string {
  return JSON.stringify(predicate, exactly);
}

function exactly(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  const isPlain = typeof value !== "number" || (Number.isFinite(value) && !Object.is(value, -0));
  return isPlain ? value : String(value);
}
