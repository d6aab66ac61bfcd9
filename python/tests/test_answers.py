"""However a question is asked, the answer is the same, and exact."""

import http.client
import json
import os
import subprocess
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from conftest import ROOT, served
from drawn_tables import STRUCT, DrawnTable, Kind

DEFAULT_SECONDS = "1200" if "COLONNADE_FULL" in os.environ else "10"
SECONDS = int(os.environ.get("COLONNADE_ANSWERS_SECONDS", DEFAULT_SECONDS))
"""How long questions are asked."""
NUM_QUESTIONS = 40
"""Of each form, for each table."""
LAYOUTS: dict[str, dict[str, Any]] = {
    "parquet": {"write_page_index": True, "data_page_size": 64, "write_batch_size": 4},
    "small_groups": {"row_group_size": 3, "use_dictionary": False, "write_page_checksum": True},
    "no_statistics": {"row_group_size": 7, "write_statistics": False, "data_page_version": "2.0"},
}


@dataclass
class Case:
    """A question to one table in one form, and its answer."""

    what: str
    ask: Callable[["Connection"], Any]
    answer: Any
    in_tab: dict[str, Any] | None = None
    """The question as `web/test/answers.test.ts` takes it."""


@dataclass
class Wrong:
    num_answers: int = 0
    lines: list[str] = field(default_factory=list)


class Connection:
    def __init__(self, url: str) -> None:
        self._http = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)

    def _request(self, method: str, path: str, body: Any = None) -> bytes:
        headers = {} if body is None else {"content-type": "application/json"}
        self._http.request(method, path, None if body is None else json.dumps(body), headers)
        response = self._http.getresponse()
        content = response.read()
        if response.status != 200:
            raise ValueError(content.decode())
        return content

    def rows(self, method: str, path: str, body: Any = None) -> list[int]:
        stream = pa.ipc.open_stream(self._request(method, path, body))
        return stream.read_all().column("row").to_pylist()

    def json(self, path: str) -> Any:
        return json.loads(self._request("GET", path))

    def keep(self, body: Any) -> str:
        """Sends a query, and reads its rows; returns its id."""
        name = str(uuid.uuid4())
        self._request("POST", "/v1/query", {**body, "id": name})
        return name


def write(table: DrawnTable, folder: Path) -> list[Path]:
    paths = [folder / "arrow.arrow"]
    with pa.OSFile(str(paths[0]), "wb") as file, pa.ipc.new_file(file, table.arrow().schema) as ipc:
        ipc.write_table(table.arrow(), max_chunksize=None)
    for name, options in LAYOUTS.items():
        paths.append(folder / f"{name}.parquet")
        pq.write_table(table.parquet(), paths[-1], **options)
    return paths


def filters(table: DrawnTable, random: Random, layout: str, kinds: list[Kind]) -> list[Case]:
    question = table.filter(random, kinds)
    url = f"/v1/tables/{layout}/rows?columns=row&filter={quote(question.sql)}"
    sql = {"sql": f'select "row" from {layout} where {question.sql}'}
    cases = [
        Case(f"filter={question.sql}", lambda to: to.rows("GET", url), question.rows),
        Case(sql["sql"], lambda to: sorted(to.rows("POST", "/v1/query", sql)), question.rows),
    ]
    if question.json is not None:
        body = {"table": layout, "columns": ["row"], "filter": question.json}
        what = json.dumps(question.json)
        in_tab = {"filter": question.json}
        case = Case(what, lambda to: to.rows("POST", "/v1/query", body), question.rows, in_tab)
        cases.append(case)
    return cases


def sorts(table: DrawnTable, random: Random, layout: str, kinds: list[Kind]) -> list[Case]:
    sort, rows = table.sorted(random, kinds)
    keys = ["-" * descends + name for name, descends in sort]
    url = f"/v1/tables/{layout}/rows?columns=row&sort={','.join(keys)}"
    words = [f"{name} {'desc' if descends else 'asc'} nulls last" for name, descends in sort]
    sql = {"sql": f'select "row" from {layout} order by {", ".join(words)}, "row"'}
    body = {"table": layout, "columns": ["row"], "sort": keys}
    in_tab = {"sort": [{"column": name, "descending": descends} for name, descends in sort]}
    return [
        Case(url, lambda to: to.rows("GET", url), rows, in_tab),
        Case(sql["sql"], lambda to: to.rows("POST", "/v1/query", sql), rows),
        Case(json.dumps(body), lambda to: to.rows("POST", "/v1/query", body), rows),
    ]


def found(table: DrawnTable, random: Random, layout: str, kinds: list[Kind]) -> list[Case]:
    readable = [kind for kind in kinds if kind.text is not None]
    if not readable:
        return []
    text = drawn_text(table, random, readable)
    rows = table.found(text, readable)

    def ask(to: Connection) -> list[tuple[int, list[str]]]:
        name = to.keep({"table": layout, "columns": [kind.name for kind in readable]})
        answer = to.json(f"/v1/query/{name}/find?text={quote(text)}")
        return [(match["row"], match["columns"]) for match in answer["matches"]]

    names = [kind.name for kind in readable]
    in_tab = {"find": text, "columns": names}
    match = {"op": "matches", "value": text, "columns": names}
    body = {"table": layout, "columns": ["row"], "filter": match}
    places = [row for row, _ in rows]
    return [
        Case(f"find {text!r}", ask, rows, in_tab),
        Case(
            json.dumps(match),
            lambda to: to.rows("POST", "/v1/query", body),
            places,
            {"filter": match},
        ),
    ]


def drawn_text(table: DrawnTable, random: Random, kinds: list[Kind]) -> str:
    """A part of a cell, mostly."""
    kind = random.choice(kinds)
    values = [value for value in table.values[kind.name] if value is not None]
    assert kind.text is not None
    text = kind.text(random.choice(values) if values else kind.draw(random)) or "0"
    start = random.randrange(len(text))
    return text[start : start + random.randrange(1, 5)].upper()


def summaries(table: DrawnTable, random: Random, layout: str, kinds: list[Kind]) -> list[Case]:
    kind = random.choice(kinds)
    expected = table.summary(kind)

    def ask(to: Connection) -> dict[str, Any]:
        name = to.keep({"table": layout, "columns": [kind.name]})
        summary = to.json(f"/v1/query/{name}/summary?column={kind.name}")
        return {member: summary.get(member) for member in expected}

    in_tab = {"summary": kind.name, "members": list(expected)}
    return [Case(f"summary of {kind.name}", ask, expected, in_tab)]


def check(url: str, cases: list[Case], wrong: Wrong, where: str) -> None:
    def ask(part: list[Case]) -> None:
        connection = Connection(url)
        for case in part:
            try:
                answer = case.ask(connection)
            except ValueError as error:
                answer = error
            if answer != case.answer:
                wrong.lines.append(f"{where}: {case.what}\n  {answer}, not {case.answer}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(ask, [cases[part::4] for part in range(4)]))
    wrong.num_answers += len(cases)


def write_questions(path: Path, table: DrawnTable, cases: list[Case]) -> int:
    """Writes a table and its questions for the module; returns the number of the questions."""
    with (
        pa.OSFile(f"{path}.arrows", "wb") as file,
        pa.ipc.new_stream(file, table.arrow().schema) as ipc,
    ):
        ipc.write_table(table.arrow())
    asked = [case for case in cases if case.in_tab is not None]
    questions = [{"question": case.in_tab, "answer": case.answer} for case in asked]
    Path(f"{path}.json").write_text(json.dumps(questions))
    return len(questions)


def check_module(folder: Path, wrong: Wrong) -> None:
    """Asks the built module the questions of a folder."""
    command = ["npx", "vitest", "run", "--dir", "test", "answers.test.ts"]
    environment = {**os.environ, "COLONNADE_ANSWERS": str(folder), "NO_COLOR": "1"}
    ended = subprocess.run(
        command, cwd=ROOT / "web", env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        wrong.lines.append(ended.stdout + ended.stderr)


def test_every_way_to_ask_gives_the_same_answer(seeded: Random, tmp_path: Path) -> None:
    end = time.monotonic() + SECONDS
    in_tab = tmp_path / "tab"
    in_tab.mkdir()
    wrong = Wrong()
    seed = 0
    while time.monotonic() < end and len(wrong.lines) < 20:
        seed = seeded.randrange(2**32)
        random = Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        table = DrawnTable.draw(random)
        files = write(table, folder)
        with served(*map(str, files)) as url:
            for layout in ["arrow", *LAYOUTS]:
                kinds = table.kinds if layout == "arrow" else table.kinds_in_parquet()
                plain = [kind for kind in kinds if kind.type != STRUCT]
                cases = []
                for _ in range(NUM_QUESTIONS):
                    cases += filters(table, random, layout, kinds)
                    if plain:
                        form = random.choice([sorts, found, summaries])
                        cases += form(table, random, layout, plain)
                check(url, cases, wrong, f"table {seed}, {layout}")
                if layout == "arrow":
                    wrong.num_answers += write_questions(in_tab / str(seed), table, cases)
    check_module(in_tab, wrong)
    print(f"{wrong.num_answers} answers, {len(wrong.lines)} wrong")
    assert not wrong.lines, "\n".join(wrong.lines[:20])
