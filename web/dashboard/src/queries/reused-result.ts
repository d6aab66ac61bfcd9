/** The stored result to show next, instead of running its statement again. */
let next: { sql: string; id: string } | undefined;

/** Makes the next request for this statement's rows read a stored result. */
export function reuseResult(sql: string, id: string): void {
  next = { sql, id };
}

/** The request for the rows of the chosen result, once; undefined if none was chosen. */
export function reusedResultRequest(sql: string): Request | undefined {
  const { id } = next?.sql === sql ? next : {};
  next = undefined;
  return id === undefined ? undefined : new Request(`/v1/query/${id}/rows`);
}
