"""Fixtures: a real server with the demo tables, and random numbers."""

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import colonnade

ROOT = Path(__file__).parents[2]


def binary() -> str:
    return os.environ.get("COLONNADE_BINARY", str(ROOT / "target/release/colonnade"))


def demo_file(name: str) -> Path:
    """The path of a demo table, which the server makes when it starts."""
    cache = os.environ.get("XDG_CACHE_HOME", f"{Path.home()}/.cache")
    return Path(os.environ.get("COLONNADE_CACHE_DIR", f"{cache}/colonnade")) / name


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """The URL of a server with these arguments."""
    command = [binary(), "serve", "--listen", "127.0.0.1:0", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            assert line.startswith("listening on "), line
            yield line.split()[-1]
        finally:
            server.kill()


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The URL of a writable server."""
    with served("--writable") as url:
        yield url


@pytest.fixture
def server(url: str) -> colonnade.Server:
    return colonnade.connect(url, progress=False)


@pytest.fixture
def seeded() -> random.Random:
    """Random numbers with the seed COLONNADE_SEED, or a new seed that is printed."""
    seed = int(os.environ.get("COLONNADE_SEED", random.randrange(2**32)))
    print(f"COLONNADE_SEED={seed}")
    return random.Random(seed)
