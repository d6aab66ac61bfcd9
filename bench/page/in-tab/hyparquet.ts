// hyparquet with HighTable, by the same authors.

import { createEventTarget, type DataFrameEvents, HighTable } from "hightable";
import {
  type AsyncBuffer,
  asyncBufferFromUrl,
  type ColumnData,
  cachedAsyncBuffer,
  type FileMetaData,
  parquetMetadataAsync,
  parquetRead,
  parquetReadObjects,
  parquetSchema,
} from "hyparquet";
import { createElement } from "react";
import { createRoot, type Root } from "react-dom/client";
import { start } from "./start.js";

const place = document.createElement("div");
place.style.cssText = "height: 600px; display: flex; flex-direction: column";
document.body.append(place);
let root: Root | undefined;

async function openBytes(url: string): Promise<{ file: AsyncBuffer; metadata: FileMetaData }> {
  const file = cachedAsyncBuffer(await asyncBufferFromUrl({ url }));
  return { file, metadata: await parquetMetadataAsync(file) };
}

async function openFile(url: string): Promise<void> {
  root?.unmount();
  root = createRoot(place);
  const { file, metadata } = await openBytes(url);
  const data = frameOf(file, metadata);
  root.render(createElement(HighTable, { data, stringify: textOf, focus: false }));
}

/**
 * The rows of a file as HighTable asks for them; each is read once. Whole row groups are read, which is the default:
 * with `useOffsetIndex` there are fewer bytes, but the requests for each page take longer.
 */
function frameOf(file: AsyncBuffer, metadata: FileMetaData) {
  const eventTarget = createEventTarget<DataFrameEvents>();
  const rows = new Map<number, Record<string, unknown>>();
  const asked = new Set<number>();
  const names = parquetSchema(metadata).children.map(({ element }) => element.name);
  return {
    columnDescriptors: names.map((name) => ({ name })),
    numRows: Number(metadata.num_rows),
    eventTarget,
    getRowNumber: ({ row }: { row: number }) => ({ value: row }),
    getCell({ row, column }: { row: number; column: string }) {
      const cells = rows.get(row);
      return cells && { value: cells[column] };
    },
    async fetch({ rowStart, rowEnd }: { rowStart: number; rowEnd: number }) {
      const missing = [];
      for (let row = rowStart; row < rowEnd; row++) if (!asked.has(row)) missing.push(row);
      const [first, last] = [missing[0], missing.at(-1)];
      if (first === undefined || last === undefined) return;
      for (const row of missing) asked.add(row);
      const range = { rowStart: first, rowEnd: last + 1 };
      const read = await parquetReadObjects({ file, metadata, ...range });
      for (const [index, cells] of read.entries()) rows.set(first + index, cells);
      eventTarget.dispatchEvent(new CustomEvent("resolve"));
    },
  };
}

function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  return value instanceof Date ? value.toISOString().slice(0, 10) : String(value);
}

/** HighTable has no way to go to a row but to scroll there. */
async function showRow(row: number): Promise<void> {
  const scroller = [...place.querySelectorAll("*")].find(
    ({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + 1000,
  );
  if (scroller === undefined) throw new Error("the grid cannot be scrolled");
  const table = place.querySelector("[aria-rowcount]");
  const numRows = Number(table?.getAttribute("aria-rowcount")) - 1;
  scroller.scrollTop = (row / numRows) * (scroller.scrollHeight - scroller.clientHeight);
}

function shownRow(row: number): string[] | undefined {
  const cells = place.querySelectorAll(`[role=row][aria-rowindex="${row + 2}"] [role=cell]`);
  const texts = Array.from(cells, ({ textContent }) => textContent ?? "");
  return texts.length === 0 || texts.includes("") ? undefined : texts;
}

/** Keeps the columns of all row groups as hyparquet returns them. */
async function readAll(url: string): Promise<number> {
  const { file, metadata } = await openBytes(url);
  const chunks: ColumnData[] = [];
  await parquetRead({ file, metadata, onChunk: (chunk) => chunks.push(chunk) });
  const [first] = chunks;
  const ofColumn = chunks.filter(({ columnName }) => columnName === first?.columnName);
  return ofColumn.reduce((sum, { columnData }) => sum + columnData.length, 0);
}

start({ openFile, showRow, shownRow, readAll });
