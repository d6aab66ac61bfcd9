/** Summary of a column, as `GET /v1/query/{id}/summary` answers. Values are exact texts. */
export interface Summary {
  column: string;
  /** Arrow's type as pyarrow prints it. */
  type: string;
  rows: number;
  nulls: number;
  /**
   * The number of distinct values: counted for texts and booleans with `top`, otherwise estimated (HyperLogLog, standard
   * error 0.8 %); null for nested types.
   */
  distinct: number | null;
  distinct_is_approximate: boolean;
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
  /** Of numbers and times; for floats, of the finite values. */
  quartiles?: Quartiles<string>;
  /** The number of empty texts. */
  empties?: number;
  /** The lengths of texts in characters (Unicode code points). */
  lengths?: Quartiles<number> & { min: number; max: number };
  /**
   * The most frequent texts or booleans: ten, or as many as asked for. Absent if the browser counts them and there are more than 1,048,576
   * distinct values (`maxCounted`); a server has no such limit.
   */
  top?: { value: string; count: number }[];
}

/**
 * Values that divide the others into four parts of the same size. Each is a value of the column: the least one that is
 * not smaller than a quarter, a half or three quarters of all.
 */
export interface Quartiles<T> {
  lower: T;
  median: T;
  upper: T;
  /** Whether there were too many different values to count them; the rank is then wrong by about 0.2 %. */
  is_approximate: boolean;
}
