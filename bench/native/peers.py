"""Runs the tasks that it reads, one line of JSON each; answers each with `{"ms": …}` or `{"error": …}`.

A task is `{"task": NAME, …parameters}`. What a task needs is created before its first run, and not measured.
"""

import functools
import http.server
import json
import os
import pathlib
import sys
import tempfile
import threading
import time
import urllib.request
import uuid

import pyarrow as pa
import pyarrow.flight as flight
import pyarrow.parquet as pq

COLUMNS = ["id", "id * 0.5 as a", "id * 0.25 as b", "id * 0.125 as c", "id * 2.5 as d"]


def spark_session():
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "8g")
        .config("spark.driver.maxResultSize", "0")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def connect_session(remote):
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote(remote).getOrCreate()


class Lazily:
    """A value that is made once, when it is first needed."""

    def __init__(self, make):
        self.make = make
        self.value = None

    def __call__(self):
        if self.value is None:
            self.value = self.make()
        return self.value


spark = Lazily(spark_session)


def frame():
    import numpy
    import pandas

    return pandas.DataFrame({f"c{index}": numpy.arange(10_000_000) * 0.5 + index for index in range(10)})


upload_frame = Lazily(frame)
upload_table = Lazily(lambda: pa.Table.from_pandas(upload_frame(), preserve_index=False))


def read_stream(url):
    with urllib.request.urlopen(url) as response:
        return pa.ipc.open_stream(response).read_all()


def query(origin, sql, **options):
    body = json.dumps({"sql": sql, **options}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{origin}/v1/query", body, headers)
    with urllib.request.urlopen(request) as response:
        return pa.ipc.open_stream(response).read_all()


class FlightTable(flight.FlightServerBase):
    """A Flight server that sends one table from memory and discards uploads."""

    def __init__(self, table):
        super().__init__("grpc://127.0.0.1:0")
        self.table = table

    def do_get(self, context, ticket):
        return flight.RecordBatchStream(self.table)

    def do_put(self, context, descriptor, reader, writer):
        reader.read_all()


def http_server(table):
    """Serves a table as pyarrow's stream over the standard library's HTTP server; returns the URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            with pa.ipc.new_stream(self.wfile, table.schema) as writer:
                writer.write_table(table)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


served = {}


def lineitem(path):
    """The table in memory, with a Flight server and an HTTP server of it; made once."""
    if "table" not in served:
        served["table"] = pa.ipc.open_stream(pa.memory_map(path)).read_all()
        served["flight"] = FlightTable(served["table"])
        served["http"] = http_server(served["table"])
    return served


def flight_get(path):
    client = flight.connect(("127.0.0.1", lineitem(path)["flight"].port))
    return client.do_get(flight.Ticket(b"")).read_all()


def flight_put(table):
    server = served.setdefault("put", FlightTable(None))
    client = flight.connect(("127.0.0.1", server.port))
    writer, _ = client.do_put(flight.FlightDescriptor.for_path("t"), table.schema)
    with writer:
        writer.write_table(table)


def put(origin, table):
    """Uploads a table as an Arrow stream, in chunks as pyarrow writes them."""
    import http.client

    connection = http.client.HTTPConnection(origin.removeprefix("http://"))
    connection.putrequest("PUT", f"/v1/tables/bench_{uuid.uuid4().hex}")
    connection.putheader("content-type", "application/vnd.apache.arrow.stream")
    connection.putheader("transfer-encoding", "chunked")
    connection.endheaders()

    class Chunks:
        closed = False

        def write(self, data):
            size = memoryview(data).nbytes
            connection.send(b"%x\r\n" % size)
            connection.send(data)
            connection.send(b"\r\n")
            return size

        def flush(self):
            pass

    with pa.ipc.new_stream(pa.PythonFile(Chunks(), "w"), table.schema) as writer:
        writer.write_table(table, max_chunksize=65_536)
    connection.send(b"0\r\n\r\n")
    response = connection.getresponse()
    if response.status != 201:
        raise RuntimeError(f"{response.status} {response.read()}")
    response.read()


def save(url):
    with urllib.request.urlopen(url) as response:
        while response.read(1 << 20):
            pass


def export(origin, columns):
    """Exports lineitem's first columns to one Parquet file, from a new result."""
    with urllib.request.urlopen(f"{origin}/v1/tables/lineitem") as response:
        names = [field["name"] for field in json.load(response)["fields"][:columns]]
    query_id = uuid.uuid4()
    url = f"{origin}/v1/tables/lineitem/rows?columns={','.join(names)}&id={query_id}&linger_s=60"
    urllib.request.urlopen(url).close()
    save(f"{origin}/v1/query/{query_id}/export?format=parquet&compression=zstd")
    urllib.request.urlopen(urllib.request.Request(f"{origin}/v1/query/{query_id}", method="DELETE")).close()


def write_parquet(columns, path):
    table = lineitem(path)["table"]
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table.select(table.column_names[:columns]), f"{folder}/t.parquet", compression="zstd")


def spark_parquet(columns, parquet):
    frame = spark().read.parquet(parquet)
    with tempfile.TemporaryDirectory() as folder:
        chosen = frame.select(frame.columns[:columns]).coalesce(1)
        chosen.write.option("compression", "zstd").parquet(f"{folder}/t")


@functools.cache
def datafusion_context(folder):
    import datafusion

    context = datafusion.SessionContext()
    for path in pathlib.Path(folder).glob("*.parquet"):
        context.register_parquet(path.stem, str(path))
    return context


@functools.cache
def duckdb_connection(folder):
    import duckdb

    connection = duckdb.connect()
    for path in pathlib.Path(folder).glob("*.parquet"):
        connection.execute(f"create view {path.stem} as select * from '{path}'")
    return connection


TASKS = {
    "read": lambda url: read_stream(url),
    "drain": save,
    "flight": flight_get,
    "http": lambda path: read_stream(lineitem(path)["http"]),
    "frame": lambda origin, sql: query(origin, sql).to_pandas(),
    "spark frame": lambda rows: spark().range(rows).selectExpr(*COLUMNS).toPandas(),
    "collect": lambda origin, sql, **options: query(origin, sql, **options),
    "connect frame": lambda remote, sql: connect_session(remote).sql(sql).toPandas(),
    "spark collect": lambda rows: spark().range(rows).collect(),
    "spark toArrow": lambda rows: spark().range(rows).toArrow(),
    "spark limit": lambda rows, limit: spark().range(rows).limit(limit).collect(),
    "put": lambda origin: put(origin, upload_table()),
    "flight put": lambda: flight_put(upload_table()),
    "spark put": lambda: spark().createDataFrame(upload_frame()).count(),
    "export": export,
    "pyarrow parquet": write_parquet,
    "spark parquet": spark_parquet,
    "datafusion": lambda folder, sql: datafusion_context(folder).sql(sql).collect(),
    "duckdb": lambda folder, sql: duckdb_connection(folder).sql(sql).fetchall(),
}



def warm_up(task, request):
    """Makes what the task needs before it is measured."""
    if task.startswith("spark"):
        spark().range(1000).toPandas()
    if task.endswith("put"):
        upload_table()
    if "remote" in request:
        connect_session(request["remote"]).range(1000).toPandas()
    if "path" in request:
        lineitem(request["path"])
    if task == "datafusion":
        datafusion_context(request["folder"])
    if task == "duckdb":
        duckdb_connection(request["folder"])


warm = set()
print(json.dumps({"pyarrow": pa.__version__, "pid": os.getpid()}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    task = request.pop("task")
    try:
        if task not in warm:
            warm_up(task, request)
            warm.add(task)
        start = time.perf_counter()
        TASKS[task](**request)
        answer = {"ms": (time.perf_counter() - start) * 1e3}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}".split("\n", 1)[0]}
    print(json.dumps(answer), flush=True)
