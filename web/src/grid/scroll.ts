/**
 * Scroll arithmetic, without a DOM.
 *
 * `topRow` (a float64: row index and fraction) alone defines the vertical position. The native
 * scrollbar is only an input device: browsers cannot lay out a billion rows, so the scrolled height is
 * capped and mapped to rows. Small movements are 1:1 in pixels and long drags of the thumb are
 * proportional. When scrolling stops, the thumb is moved to the position of `topRow`.
 *
 * Near both ends the map is 1:1 as well, so that the first and last rows are always where the
 * scrollbar ends.
 */

/** The content and the viewport of a scroller. */
export interface ScrollGeometry {
  numRows: number;
  rowHeightPx: number;
  /** The height of the area for rows, in CSS px. */
  viewportPx: number;
}

/** A position, and the scrollbar's position at that time. */
export interface ScrollPosition {
  /** The row at the upper edge, plus the fraction of it above the edge. */
  topRow: number;
  scrollTopPx: number;
}

/** Layout breaks beyond 16.7 million px in Blink, painting beyond 6 to 17 million in Gecko. */
export const MAX_SPACER_PX = 8_000_000;
/** The part at each end of the scrollbar that maps 1:1. */
export const EDGE_PX = 200_000;
/** Within a row, positions are multiples of Blink's layout unit, so that rounding errors cannot add up. */
const UNITS_PER_PX = 64;

/** The height of the scrolled content, in px. */
export function spacerPx({ numRows, rowHeightPx }: ScrollGeometry): number {
  return Math.min(numRows * rowHeightPx, MAX_SPACER_PX);
}

/** The largest `topRow`: the last row ends at the lower edge. */
export function maxTopRow({ numRows, rowHeightPx, viewportPx }: ScrollGeometry): number {
  return Math.max(0, numRows - viewportPx / rowHeightPx);
}

/** `topRow` clamped to the valid range. */
export function clampTopRow(geometry: ScrollGeometry, topRow: number): number {
  return Math.max(0, Math.min(topRow, maxTopRow(geometry)));
}

/** The scrollbar's position for a `topRow`, in px. */
export function scrollTopFor(geometry: ScrollGeometry, topRow: number): number {
  const { tallPx, shortPx, slope } = extents(geometry);
  const fromTopPx = topRow * geometry.rowHeightPx;
  if (slope === 1 || fromTopPx <= EDGE_PX) return Math.min(fromTopPx, shortPx);
  const fromEndPx = tallPx - fromTopPx;
  if (fromEndPx <= EDGE_PX) return shortPx - Math.max(0, fromEndPx);
  return EDGE_PX + (fromTopPx - EDGE_PX) / slope;
}

/** The `topRow` for a position of the scrollbar: the inverse of {@link scrollTopFor}. */
export function topRowFor(geometry: ScrollGeometry, scrollTopPx: number): number {
  const { tallPx, shortPx, slope } = extents(geometry);
  const { rowHeightPx } = geometry;
  if (slope === 1 || scrollTopPx <= EDGE_PX) return scrollTopPx / rowHeightPx;
  const fromEndPx = shortPx - scrollTopPx;
  if (fromEndPx <= EDGE_PX) return (tallPx - Math.max(0, fromEndPx)) / rowHeightPx;
  return (EDGE_PX + (scrollTopPx - EDGE_PX) * slope) / rowHeightPx;
}

/**
 * The position after the scrollbar moved.
 *
 * @param isGesture whether a wheel or a touch moved it: those movements are small at any speed,
 *   whereas dragging the thumb by one px of the screen can move thousands
 */
export function scrolledTo(
  geometry: ScrollGeometry,
  position: ScrollPosition,
  scrollTopPx: number,
  isGesture: boolean,
): ScrollPosition {
  const movedPx = scrollTopPx - position.scrollTopPx;
  // The grid's own corrections of the scrollbar arrive like this, and are ignored.
  if (movedPx === 0) return position;
  const { shortPx, slope } = extents(geometry);
  const moved = movedBy(geometry, position.topRow, movedPx);
  // Rows that arrived since the scrollbar was corrected may put the last row far below its end.
  const isNearLast = (maxTopRow(geometry) - moved) * geometry.rowHeightPx < geometry.viewportPx;
  const isAtEnd = scrollTopPx <= 0 || (scrollTopPx >= shortPx && (!isGesture || isNearLast));
  const isSmall = isGesture || Math.abs(movedPx) < shortPx / (2 * geometry.viewportPx);
  if (slope === 1 || isAtEnd || !isSmall) {
    return { topRow: clampTopRow(geometry, topRowFor(geometry, scrollTopPx)), scrollTopPx };
  }
  return { topRow: moved, scrollTopPx };
}

/** `topRow` moved by a distance in px, rounded to 1/64 px and clamped to the valid range. */
export function movedBy(geometry: ScrollGeometry, topRow: number, distancePx: number): number {
  const { rowHeightPx } = geometry;
  const wholeRow = Math.floor(topRow);
  const withinPx = (topRow - wholeRow) * rowHeightPx + distancePx;
  const snappedPx = Math.round(withinPx * UNITS_PER_PX) / UNITS_PER_PX;
  const rows = Math.floor(snappedPx / rowHeightPx);
  const restPx = snappedPx - rows * rowHeightPx;
  return clampTopRow(geometry, wholeRow + rows + restPx / rowHeightPx);
}

/** `topRow` changed as little as possible so that a row is wholly inside the viewport. */
export function revealRow(geometry: ScrollGeometry, topRow: number, row: number): number {
  const { rowHeightPx, viewportPx } = geometry;
  const lowest = row + 1 - viewportPx / rowHeightPx;
  return clampTopRow(geometry, Math.min(Math.max(topRow, lowest), row));
}

/** The rows that are at least partly visible, `[start, end)`. */
export function visibleRows(
  geometry: ScrollGeometry,
  topRow: number,
): { start: number; end: number } {
  const { numRows, rowHeightPx, viewportPx } = geometry;
  const start = Math.floor(topRow);
  return { start, end: Math.min(numRows, Math.ceil(topRow + viewportPx / rowHeightPx)) };
}

interface Extents {
  /** How far the rows can scroll, in px of the rows. */
  tallPx: number;
  /** How far the scrollbar can be moved. */
  shortPx: number;
  /** Px of the rows for each px of the scrollbar, between the edges. */
  slope: number;
}

function extents(geometry: ScrollGeometry): Extents {
  const { numRows, rowHeightPx, viewportPx } = geometry;
  const tallPx = Math.max(0, numRows * rowHeightPx - viewportPx);
  const shortPx = Math.max(0, spacerPx(geometry) - viewportPx);
  const slope = tallPx === shortPx ? 1 : (tallPx - 2 * EDGE_PX) / (shortPx - 2 * EDGE_PX);
  return { tallPx, shortPx, slope };
}
