export { ColonnadeError, type ErrorDetails, type PlainError } from "./errors.js";
export type { Fetch } from "./fetcher.js";
export type { Interruption, SortKey } from "./messages.js";
export { DEFAULT_MEMORY_BYTES, type OpenOptions, open } from "./open.js";
export type { Predicate, PredicateValue } from "./predicate.js";
export {
  type ColumnValues,
  type FindOptions,
  type Found,
  type RowRange,
  View,
  type WorkOptions,
} from "./rows.js";
export type { Field, Schema } from "./schema.js";
export type { RequestOptions, TableSource } from "./source.js";
export type { Summary, SummaryOptions } from "./summary.js";
export {
  Table,
  type TableEventMap,
  type TableProgress,
  type TableState,
} from "./table.js";

export type { CopyOptions } from "./viewer/clipboard.js";
export type { ViewerEventMap } from "./viewer/events.js";
export type { CopyFormat } from "./viewer/formats.js";
export type { ViewerSelection } from "./viewer/selected.js";
export type { ViewerState } from "./viewer/state.js";
export type { ColonnadeViewer } from "./viewer/viewer.js";

export { CellKind, RowWindow } from "./window.js";
