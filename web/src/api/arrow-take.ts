import type { Table as ArrowTable, Data, DataType, Field, Union, Vector } from "apache-arrow";

type Arrow = typeof import("apache-arrow");

/** Values to take, each by the number of its chunk and its index there. */
interface Picks {
  chunks: Uint32Array;
  indices: Uint32Array;
}

/** The rows with these numbers of a table of apache-arrow, as a table of one batch. Nothing but bytes is copied. */
export function takeRows(arrow: Arrow, table: ArrowTable, rowNumbers: Uint32Array): ArrowTable {
  if (rowNumbers.length === 0) return table.slice(0, 0);
  const picks = picksOf(table, rowNumbers);
  const { fields, metadata } = table.schema;
  const children = fields.map((_, column) =>
    new Taker(arrow, picks).take(table.batches.map(({ data }) => data.children[column] as Data)),
  );
  const taken = fieldsOf(arrow, fields, children);
  const type = new arrow.Struct(taken);
  const data = arrow.makeData({ type, length: rowNumbers.length, nullCount: 0, children });
  const schema = new arrow.Schema(taken, metadata);
  // The constructor mixes up columns of one name.
  const batch = Object.assign(new arrow.RecordBatch(schema, data), { schema, data });
  return new arrow.Table([batch]);
}

/** The fields with the types of the values that were taken. */
function fieldsOf(arrow: Arrow, fields: readonly Field[], values: readonly Data[]): Field[] {
  return fields.map(({ name, nullable, metadata }, child) => {
    const { type } = values[child] as Data;
    return new arrow.Field(name, type, nullable, metadata);
  });
}

function picksOf(table: ArrowTable, rowNumbers: Uint32Array): Picks {
  const picks = {
    chunks: new Uint32Array(rowNumbers.length),
    indices: new Uint32Array(rowNumbers.length),
  };
  const starts = [0];
  for (const { numRows } of table.batches) starts.push((starts.at(-1) ?? 0) + numRows);
  rowNumbers.forEach((row, at) => {
    let [low, high] = [0, table.batches.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= row) low = middle;
      else high = middle;
    }
    picks.chunks[at] = low;
    picks.indices[at] = row - (starts[low] ?? 0);
  });
  return picks;
}

/** Takes values of a column, which may be nested. */
class Taker {
  readonly #arrow: Arrow;
  readonly #picks: Picks;

  constructor(arrow: Arrow, picks: Picks) {
    this.#arrow = arrow;
    this.#picks = picks;
  }

  take(chunks: readonly Data[]): Data {
    const { Type, makeData } = this.#arrow;
    const [first] = chunks;
    const { length } = this.#picks.indices;
    const type = first?.type ?? new this.#arrow.Null();
    if (first === undefined || type.typeId === Type.Null) {
      return makeData({ type: new this.#arrow.Null(), length });
    }
    const nulls = { length, ...this.#nulls(chunks) };
    const make = (parts: object, made: DataType = type) =>
      makeData({ type: made, ...nulls, ...parts } as Parameters<typeof makeData>[0]);
    const makeNested = (parts: object, children: readonly Data[]) =>
      make({ ...parts, child: children[0], children }, this.#withChildren(type, children));
    switch (type.typeId) {
      case Type.Bool:
        return make({
          data: bits(length, (at) => isSet(this.#chunk(chunks, at).values, this.#index(at))),
        });
      case Type.Utf8:
      case Type.Binary:
      case Type.LargeUtf8:
      case Type.LargeBinary:
        return make(this.#takeBytes(chunks));
      case Type.Utf8View:
      case Type.BinaryView:
        return make(this.#takeViews(chunks));
      case Type.List:
      case Type.LargeList:
      case Type.Map: {
        const { picks, valueOffsets } = this.#spans(chunks);
        return makeNested({ valueOffsets }, [this.#takeChild(chunks, 0, picks)]);
      }
      case Type.FixedSizeList: {
        const { picks } = this.#spans(chunks, first.stride);
        return makeNested({}, [this.#takeChild(chunks, 0, picks)]);
      }
      case Type.Struct:
        return makeNested(
          {},
          first.children.map((_, child) => this.#takeChild(chunks, child)),
        );
      case Type.Union:
        return this.#takeUnion(chunks, type);
      case Type.Dictionary:
        return this.#takeDictionary(chunks, make);
      default:
        return make({ data: this.#takeFixed(chunks, first.stride) });
    }
  }

  /** A nested type with the types of the children that were taken, which a replaced dictionary changes. */
  #withChildren(type: DataType, children: readonly Data[]): DataType {
    const fields = fieldsOf(this.#arrow, type.children ?? [], children);
    const copy = Object.create(Object.getPrototypeOf(type));
    return Object.assign(copy, type, { children: fields });
  }

  #chunk(chunks: readonly Data[], at: number): Data {
    return chunks[this.#picks.chunks[at] ?? 0] as Data;
  }

  #index(at: number): number {
    return this.#picks.indices[at] ?? 0;
  }

  #nulls(chunks: readonly Data[]): { nullCount: number; nullBitmap?: Uint8Array } {
    if (chunks.every(({ nullCount }) => nullCount === 0)) return { nullCount: 0 };
    const { length } = this.#picks.indices;
    const isValid = (at: number) => this.#chunk(chunks, at).getValid(this.#index(at));
    return { nullCount: -1, nullBitmap: bits(length, isValid) };
  }

  /** Values of `stride` elements each. */
  #takeFixed(chunks: readonly Data[], stride: number) {
    const { length } = this.#picks.indices;
    const values = new (arrayOf(chunks[0]?.values))(length * stride);
    for (let at = 0; at < length; at++) {
      const start = this.#index(at) * stride;
      values.set(this.#chunk(chunks, at).values.subarray(start, start + stride), at * stride);
    }
    return values;
  }

  #takeBytes(chunks: readonly Data[]) {
    const { picks, valueOffsets } = this.#spans(chunks);
    return { valueOffsets, data: new Taker(this.#arrow, picks).#takeFixed(chunks, 1) };
  }

  /** The bytes of all chunks stay, and the views count their buffers on. */
  #takeViews(chunks: readonly Data[]) {
    const values = this.#takeFixed(chunks, 16);
    const words = new Int32Array(values.buffer);
    const firsts = countedOn(chunks, ({ variadicBuffers }) => variadicBuffers.length);
    for (let at = 0; at < this.#picks.indices.length; at++) {
      const isInline = (words[at * 4] ?? 0) <= 12;
      if (!isInline)
        words[at * 4 + 2] = (words[at * 4 + 2] ?? 0) + (firsts[this.#picks.chunks[at] ?? 0] ?? 0);
    }
    return {
      views: values,
      variadicBuffers: chunks.flatMap((chunk) => [...chunk.variadicBuffers]),
    };
  }

  /** The items of lists, or the bytes of texts, to take, and the offsets of the taken ones. */
  #spans(chunks: readonly Data[], size?: number) {
    const { length } = this.#picks.indices;
    const Offsets = chunks[0]?.valueOffsets instanceof BigInt64Array ? BigInt64Array : Int32Array;
    const valueOffsets = new Offsets(length + 1);
    const starts = new Uint32Array(length);
    let total = 0;
    for (let at = 0; at < length; at++) {
      const index = this.#index(at);
      const offsets = this.#chunk(chunks, at).valueOffsets;
      const start = size === undefined ? Number(offsets[index]) : index * size;
      starts[at] = start;
      total += size ?? Number(offsets[index + 1]) - start;
      valueOffsets[at + 1] = (Offsets === BigInt64Array ? BigInt(total) : total) as never;
    }
    const picks = { chunks: new Uint32Array(total), indices: new Uint32Array(total) };
    let next = 0;
    for (let at = 0; at < length; at++) {
      const end = size === undefined ? Number(valueOffsets[at + 1]) : (at + 1) * size;
      for (let index = starts[at] ?? 0; next < end; next++, index++) {
        picks.chunks[next] = this.#picks.chunks[at] ?? 0;
        picks.indices[next] = index;
      }
    }
    return { picks, valueOffsets };
  }

  #takeChild(chunks: readonly Data[], child: number, picks: Picks = this.#picks): Data {
    const children = chunks.map(({ children }) => children[child] as Data);
    return new Taker(this.#arrow, picks).take(children);
  }

  #takeUnion(chunks: readonly Data[], type: DataType): Data {
    const typeIds = this.#takeTypeIds(chunks);
    const { length } = typeIds;
    const isDense = this.#arrow.DataType.isDenseUnion(type);
    const members = (type as Union).typeIdToChildIndex;
    const offsetAt = (at: number) => Number(this.#chunk(chunks, at).valueOffsets[this.#index(at)]);
    const indices = isDense
      ? Uint32Array.from(typeIds, (_, at) => offsetAt(at))
      : this.#picks.indices;
    const children = (chunks[0]?.children ?? []).map((_, child) => {
      // A value of another member takes the first of this one, if there is any.
      const isOf = (at: number) => members[typeIds[at] ?? 0] === child;
      const own = isDense ? indices.map((index, at) => (isOf(at) ? index : 0)) : indices;
      return this.#takeChild(chunks, child, { chunks: this.#picks.chunks, indices: own });
    });
    const parts = { type: this.#withChildren(type, children), length, typeIds, children };
    const valueOffsets = Int32Array.from(typeIds, (_, at) => at);
    const data = isDense ? { ...parts, valueOffsets } : parts;
    return this.#arrow.makeData(data as unknown as Parameters<Arrow["makeData"]>[0]);
  }

  #takeTypeIds(chunks: readonly Data[]): Int8Array {
    const { indices } = this.#picks;
    return Int8Array.from(indices, (index, at) => this.#chunk(chunks, at).typeIds[index] ?? 0);
  }

  #takeDictionary(chunks: readonly Data[], make: (parts: object, type?: DataType) => Data): Data {
    const dictionaries = chunks.map(({ dictionary }) => dictionary as Vector);
    const [dictionary] = dictionaries;
    if (dictionaries.every((other) => other === dictionary)) {
      return make({ dictionary, data: this.#takeFixed(chunks, 1) });
    }
    const firsts = countedOn(dictionaries, ({ length }) => length);
    const indices = Int32Array.from(
      this.#picks.indices,
      (index, at) =>
        Number(this.#chunk(chunks, at).values[index]) + (firsts[this.#picks.chunks[at] ?? 0] ?? 0),
    );
    const { type } = dictionary as Vector;
    const joined = (dictionary as Vector).concat(...dictionaries.slice(1));
    const wide = new this.#arrow.Dictionary(type, new this.#arrow.Int32());
    return make({ dictionary: joined, data: indices }, wide);
  }
}

/** For each item, the sum of the counts of those before it. */
function countedOn<T>(items: readonly T[], count: (item: T) => number): number[] {
  let total = 0;
  return items.map((item) => {
    const before = total;
    total += count(item);
    return before;
  });
}

function bits(length: number, isOne: (at: number) => boolean): Uint8Array {
  const bytes = new Uint8Array(((length + 63) >> 6) << 3);
  for (let at = 0; at < length; at++)
    if (isOne(at)) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7));
  return bytes;
}

function isSet(bytes: Uint8Array, index: number): boolean {
  return (((bytes[index >> 3] ?? 0) >> (index & 7)) & 1) === 1;
}

function arrayOf(values: Data["values"]) {
  return values.constructor as new (
    length: number,
  ) => Data["values"];
}
