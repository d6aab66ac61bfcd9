import { AsyncDuckDB, ConsoleLogger, LogLevel } from "@duckdb/duckdb-wasm";
import { type Cells, type ReadTable, SHOWN_ROWS } from "./reader.js";

const MODULES = "/modules/@duckdb/duckdb-wasm/dist";

/** DuckDB: the whole stream is fetched and then inserted; the table exists after that. */
export const read: ReadTable = async (url, progress) => {
  const worker = new Worker(`${MODULES}/duckdb-browser-eh.worker.js`);
  const database = new AsyncDuckDB(new ConsoleLogger(LogLevel.WARNING), worker);
  await database.instantiate(`${MODULES}/duckdb-eh.wasm`);
  const connection = await database.connect();
  const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
  await connection.insertArrowFromIPCStream(bytes, { name: "t", create: true });
  const query = async (sql: string) => (await connection.query(sql)).toArray();
  const fields = (await query("describe t")).map(
    (row) => row.toJSON() as { column_name: string; column_type: string },
  );
  progress.schema();
  const texts = fields.map(({ column_name }) => `"${column_name}"::varchar`).join(", ");
  const cells = async (from: string): Promise<Cells> =>
    (await query(`select ${texts} from ${from}`)).map((row) => Object.values(row.toJSON()));
  progress.firstRows(await cells(`t limit ${SHOWN_ROWS}`));
  const [count] = await query("select count(*)::double as n from t");
  return {
    numRows: count?.toJSON().n,
    cells: (start, end) => cells(`t limit ${end - start} offset ${start}`),
    touch: async () => {
      const sums = fields.map(({ column_name, column_type }) => sumSql(column_name, column_type));
      const [row] = await query(`select (${sums.join(" + ")})::double as total from t`);
      return row?.toJSON().total;
    },
    works: {
      sort: () => cells(`t order by l_extendedprice desc limit ${SHOWN_ROWS}`),
      filter: () => cells(`t where l_quantity > 45 limit ${SHOWN_ROWS}`),
      group: () => query("select l_shipmode, count(*) from t group by l_shipmode"),
      search: () => cells(`t where contains(l_comment, 'furiously special') limit ${SHOWN_ROWS}`),
    },
  };
};

function sumSql(name: string, type: string): string {
  const column = `"${name}"`;
  if (type.startsWith("DECIMAL")) return `sum(${column} * 100)`;
  if (type === "DATE") return `sum(${column} - date '1970-01-01')`;
  if (type === "VARCHAR") {
    return `sum(length(${column}) * 31 + ascii(${column}) + ascii(right(${column}, 1)))`;
  }
  return `sum(${column})`;
}
