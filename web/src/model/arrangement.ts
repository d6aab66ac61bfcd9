import { type Predicate, predicateJson } from "./predicate.js";

/** What to sort by. */
export interface SortKey {
  column: string;
  /** Largest first; default false. */
  descending?: boolean | undefined;
}

/** The filter and the order of rows. */
export interface Arrangement {
  /** The keys, the most important first; none for the order of the source. */
  sort: readonly SortKey[];
  /** A predicate that is true for the rows to show; null for all. */
  filter: Predicate | null;
}

/** All rows in the order of the source. */
export const UNARRANGED: Arrangement = { sort: [], filter: null };

/** Whether an arrangement is all rows in the order of the source. */
export function isUnarranged({ sort, filter }: Arrangement): boolean {
  return sort.length === 0 && filter === null;
}

/** Whether two arrangements are equal. */
export function isSameArrangement(one: Arrangement, other: Arrangement): boolean {
  return arrangementJson(one) === arrangementJson(other);
}

/** An arrangement as members of `POST /v1/query`. */
export function arrangementJson({ sort, filter }: Arrangement): string {
  const keys = sort.map(({ column, descending }) => ({ column, descending: descending === true }));
  const where = filter === null ? "" : `,"filter":${predicateJson(filter)}`;
  return `{"sort":${JSON.stringify(keys)}${where}}`;
}
