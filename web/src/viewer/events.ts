import type { TableProgress } from "../api/table.js";
import type { SortKey } from "../model/arrangement.js";
import type { ColonnadeError } from "../model/errors.js";
import type { Predicate } from "../model/predicate.js";
import type { Schema } from "../model/schema.js";
import type { ViewerActivation, ViewerSelection } from "./selected.js";
import type { ViewerState } from "./state.js";

/** A value inside a column's nested values. */
export interface ViewerField {
  column: string;
  /** The names of members, and the positions of items from 0, from the column's value inwards. */
  path: (string | number)[];
}

/** The events of `<colonnade-viewer>` by name; all bubble and cross shadow roots. */
export interface ViewerEventMap {
  "colonnade-schema": CustomEvent<Schema>;
  "colonnade-progress": CustomEvent<TableProgress>;
  "colonnade-complete": CustomEvent<TableProgress>;
  "colonnade-error": CustomEvent<ColonnadeError>;
  "colonnade-selection": CustomEvent<ViewerSelection | null>;
  "colonnade-activate": CustomEvent<ViewerActivation>;
  "colonnade-sort": CustomEvent<readonly SortKey[]>;
  "colonnade-filter": CustomEvent<Predicate | null>;
  "colonnade-field": CustomEvent<ViewerField>;
  "colonnade-state": CustomEvent<ViewerState>;
}
