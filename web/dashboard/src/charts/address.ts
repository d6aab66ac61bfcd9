/** The charts that an address names; undefined where it names none. */
export function chartStateIn(search: string): string | undefined {
  return new URLSearchParams(search).get("chart") ?? undefined;
}

/** The address with these charts in the place of others. */
export function withChartState(search: string, state: string | undefined): string {
  const params = new URLSearchParams(search);
  if (state === undefined) params.delete("chart");
  else params.set("chart", state);
  return `/?${params}`;
}
