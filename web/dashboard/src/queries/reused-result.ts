/** A statement's result that the server still has, to be looked at next. */
let next: { sql: string; id: string } | undefined;

/** The next time that this statement's rows are asked for, they are those of that result. */
export function reuseResult(sql: string, id: string): void {
  next = { sql, id };
}

/** The request for the rows of the result that was chosen, once; undefined where none was. */
export function reusedResultRequest(sql: string): Request | undefined {
  const { id } = next?.sql === sql ? next : {};
  next = undefined;
  return id === undefined ? undefined : new Request(`/v1/query/${id}/rows`);
}
