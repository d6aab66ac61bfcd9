/** Values of a column, little-endian; each `bool` takes one byte. */
export interface RawValues {
  kind: "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "f32" | "f64" | "bool";
  bytes: Uint8Array<ArrayBuffer>;
  validity: Uint8Array<ArrayBuffer>;
}

/** Texts of a column that repeat: `codes` has each row's index in `texts`, a packed window of one column. */
export interface RawRepeats {
  kind: "repeats";
  codes: Uint32Array<ArrayBuffer>;
  numTexts: number;
  texts: Uint8Array<ArrayBuffer>;
}

/** Texts of a column that seldom repeat, as a packed window of one column. */
export interface RawTexts {
  kind: "texts";
  texts: Uint8Array<ArrayBuffer>;
}

/** Values of a column. */
export type RawColumn = RawValues | RawRepeats | RawTexts;
