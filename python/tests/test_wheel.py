"""The contents of the wheel that `npm run build:python` builds."""

from pathlib import Path
from zipfile import ZipFile

import pytest

WHEELS = list((Path(__file__).parents[1] / "dist").glob("*.whl"))


@pytest.mark.skipif(not WHEELS, reason="no wheel is built")
def test_the_wheel() -> None:
    (wheel,) = WHEELS
    assert wheel.name == "colonnade-0.1.0-py3-none-any.whl"
    assert wheel.stat().st_size <= 2 * 2**20
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        inline = archive.read("colonnade/inline.js")
        metadata = archive.read("colonnade-0.1.0.dist-info/METADATA").decode()
    for licence in ("LICENSE", "THIRD_PARTY_LICENCES.md"):
        assert f"colonnade-0.1.0.dist-info/licenses/{licence}" in names
    assert "colonnade/py.typed" in names
    assert "colonnade/widget.js" in names
    # Only Python and JavaScript: no server binary, no native library.
    assert {Path(name).suffix for name in names if name.startswith("colonnade/")} <= {
        ".py", ".js", ".typed",
    }  # fmt: skip
    assert b"colonnade-viewer" in inline
    assert "Requires-Python: >=3.10" in metadata
    requirements = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    assert len(requirements) == 3
