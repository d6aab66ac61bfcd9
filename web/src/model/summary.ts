/** Summary of a column, as `GET /v1/query/{id}/summary` answers. Values are exact texts. */
export interface Summary {
  column: string;
  /** Arrow's type as pyarrow prints it. */
  type: string;
  rows: number;
  nulls: number;
  /** Estimated number of distinct values (HyperLogLog, standard error 0.8 %); null for nested types. */
  distinct: number | null;
  distinct_is_approximate: true;
  /** For floats, the smallest finite value. */
  min: string | null;
  max: string | null;
  /** For numbers and times; times are rounded to their unit. */
  mean: string | null;
  /** Number of NaN values, for floats. */
  nan?: number;
  infinite?: number;
  /** Bin k counts values from `edges[k]` to below `edges[k + 1]`; the last bin includes its upper edge. */
  histogram?: { edges: string[]; counts: number[] };
  /**
   * The ten most frequent texts or booleans. Absent if the browser counts them and there are more than 1,048,576
   * distinct values (`maxCounted`); a server has no such limit.
   */
  top?: { value: string; count: number }[];
}
