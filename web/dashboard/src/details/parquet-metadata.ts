import { html, nothing } from "lit";
import { formatBytes, formatCount } from "../text/format.js";

/** The Parquet metadata of a table in the response of `GET /v1/tables/{name}`. Sizes are in bytes. */
export interface ParquetMetadata {
  files: number;
  /** The number of files whose metadata was read. */
  files_read: number;
  created_by: string[];
  metadata: [key: string, value: string][];
  num_row_groups: number;
  row_groups: { file: number; rows: number; bytes: number; uncompressed_bytes: number }[];
  columns: {
    name: string;
    physical_type: string;
    compression: string[];
    encodings: string[];
    bytes: number;
    uncompressed_bytes: number;
    statistics: boolean;
    bloom_filter: boolean;
  }[];
}

/** Shows row groups, codecs, encodings and the writers of the files. */
export function parquetMetadata(parquet: ParquetMetadata) {
  const { files, files_read, created_by, num_row_groups, row_groups, columns, metadata } = parquet;
  const codecs = [...new Set(columns.flatMap(({ compression }) => compression))];
  const rows = row_groups.map((group) => group.rows);
  const span = rangeText(Math.min(...rows), Math.max(...rows), formatCount);
  return html`<section>
    <h3>Parquet</h3>
    <dl>
      ${entry("Files", `${formatCount(files)}${files_read < files ? ` (metadata of the first ${formatCount(files_read)})` : ""}`)}
      ${entry("Row groups", row_groups.length === 0 ? "0" : `${formatCount(num_row_groups)}, ${span} rows each`)}
      ${entry("Compression", `${codecs.join(", ")}${ratio(columns)}`)}
      ${entry("Created by", created_by.join(", "))}
      ${metadata.map(([key, value]) => entry(key, value))}
    </dl>
    <details>
      <summary>Column storage</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="Column storage">
        <table>
          <thead>
            <tr>
              <th>Column</th>
              <th>Physical type</th>
              <th>Compression</th>
              <th>Encodings</th>
              <th class="number">Size</th>
              <th class="number">Ratio</th>
              <th>Pruning</th>
            </tr>
          </thead>
          <tbody>
            ${columns.map(storedColumn)}
          </tbody>
        </table>
      </div>
    </details>
  </section>`;
}

function storedColumn(column: ParquetMetadata["columns"][number]) {
  const { name, physical_type, compression, encodings, bytes, uncompressed_bytes } = column;
  const helps = [
    column.statistics ? "statistics" : undefined,
    column.bloom_filter ? "Bloom filter" : undefined,
  ].filter((help) => help !== undefined);
  return html`<tr>
    <th scope="row">${name}</th>
    <td>${physical_type}</td>
    <td>${compression.join(", ")}</td>
    <td>${encodings.join(", ")}</td>
    <td class="number">${formatBytes(bytes)}</td>
    <td class="number">${bytes === 0 ? "" : (uncompressed_bytes / bytes).toFixed(1)}</td>
    <td>${helps.join(", ")}</td>
  </tr>`;
}

function entry(term: string, text: string) {
  return text === "" ? nothing : html`<div><dt>${term}</dt><dd>${text}</dd></div>`;
}

function ratio(columns: ParquetMetadata["columns"]): string {
  const sum = (key: "bytes" | "uncompressed_bytes") =>
    columns.reduce((total, column) => total + column[key], 0);
  const [stored, plain] = [sum("bytes"), sum("uncompressed_bytes")];
  return stored === 0 ? "" : `, ${formatBytes(plain)} compressed to ${formatBytes(stored)}`;
}

function rangeText(least: number, most: number, format: (count: number) => string): string {
  return least === most ? format(least) : `${format(least)} to ${format(most)}`;
}
