export { DEFAULT_MEMORY_BYTES, type OpenOptions, open } from "./api/open.js";
export { setPageMemory } from "./api/page-memory.js";
export type { SummaryOptions } from "./api/row-reader.js";
export {
  type ColumnValues,
  type FindOptions,
  type Found,
  type RowRange,
  View,
  type WorkOptions,
} from "./api/row-reader.js";
export type { RequestOptions, TableSource } from "./api/source.js";
export { Table, type TableEventMap, type TableProgress, type TableState } from "./api/table.js";
export type { Fetch } from "./http/fetch-bridge.js";
export type { SortKey } from "./model/arrangement.js";
export { distinctNames } from "./model/distinct-names.js";
export { ColonnadeError, type ErrorDetails, type PlainError } from "./model/errors.js";
export type { Predicate, PredicateValue } from "./model/predicate.js";
export type { Interruption } from "./model/progress.js";
export { CellKind, RowWindow } from "./model/row-window.js";
export type { Field, Schema } from "./model/schema.js";
export type { Quartiles, Summary } from "./model/summary.js";
export type { CopyOptions } from "./viewer/clipboard.js";
export type { ViewerEventMap, ViewerField } from "./viewer/events.js";
export type { CopyFormat, CsvOptions } from "./viewer/formats.js";
export type { RowsFileOptions } from "./viewer/rows-file.js";
export type {
  SelectedValues,
  SelectedValuesOptions,
  ViewerActivation,
  ViewerSelection,
} from "./viewer/selected.js";
export type { ViewerState } from "./viewer/state.js";
export type { ColonnadeViewer } from "./viewer/viewer.js";
