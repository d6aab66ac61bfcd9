/** Summary of a column, as `GET /v1/query/{id}/summary` answers. Values are exact texts. */
export interface Summary {
  column: string;
  /** Arrow's type as pyarrow prints it. */
  type: string;
  rows: number;
  nulls: number;
  /** About how many different values there are (HyperLogLog, standard error 0.8 %); null for nested types. */
  distinct: number | null;
  distinct_is_approximate: true;
  /** Of floats the smallest finite one. */
  min: string | null;
  max: string | null;
  /** Of numbers and times; times are rounded to their unit. */
  mean: string | null;
  /** Floats that are not a number. */
  nan?: number;
  infinite?: number;
  /** Bin k holds values from `edges[k]` to below `edges[k + 1]`, the last one its upper edge too. */
  histogram?: { edges: string[]; counts: number[] };
  /** The ten most frequent texts or booleans; absent beyond 1,048,576 different ones. */
  top?: { value: string; count: number }[];
}
