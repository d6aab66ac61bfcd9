export { ColonnadeError, type ErrorDetails, type PlainError } from "./errors.js";
export type { Interruption } from "./messages.js";
export { DEFAULT_MEMORY_BYTES, type OpenOptions, open } from "./open.js";
export type { Field, Schema } from "./schema.js";
export type { RequestOptions, TableSource } from "./source.js";
export {
  type RowRange,
  Table,
  type TableEventMap,
  type TableProgress,
  type TableState,
} from "./table.js";
export type { ColonnadeViewer, ViewerEventMap, ViewerState } from "./viewer/viewer.js";
export { CellKind, RowWindow } from "./window.js";
