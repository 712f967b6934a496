"""Builds the package: with maturin, and with what its native part says of itself.

`rdmawire/report.py` has the types of a report, from its JSON Schema; `rdmawire/_native.pyi` has the columns of packets. The library that was
just built knows both, so that no file of the repository repeats them.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import shutil
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import maturin
from maturin import (  # noqa: F401
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

TOOLS = Path(__file__).resolve().parent


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    name = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    wheel = Path(wheel_directory) / name
    with ZipFile(wheel) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
        infos = {info.filename: info for info in archive.infolist()}
    scratch = Path(tempfile.mkdtemp())
    native = next(part for part in parts if part.startswith("rdmawire/_native") and not part.endswith(".pyi"))
    library = scratch / Path(native).name
    library.write_bytes(parts[native])
    files = {f"rdmawire/{file}": text.encode() for file, text in made(library).items()}
    # A library that is loaded cannot be deleted everywhere.
    shutil.rmtree(scratch, ignore_errors=True)
    with ZipFile(wheel, "w", ZIP_DEFLATED) as archive:
        for part, data in with_record({**parts, **files}, files).items():
            archive.writestr(infos.get(part, part), data)
    return name


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    name = maturin.build_editable(wheel_directory, config_settings, metadata_directory)
    write()
    return name


def write() -> None:
    """Writes the files beside the sources, where the library of an editable install is."""
    package = TOOLS.parent / "rdmawire"
    libraries = [path for path in package.glob("_native.*") if path.suffix in (".so", ".pyd")]
    for file, text in made(max(libraries, key=lambda path: path.stat().st_mtime)).items():
        (package / file).write_text(text, encoding="utf-8")
        print(f"{package / file}: written")


def made(library: Path) -> dict[str, str]:
    """The files that are made of a native part: their names and texts."""
    native = loaded("rdmawire._native", library)
    tools = [("report.py", "report_types"), ("_native.pyi", "native_stub")]
    return {file: loaded(tool, TOOLS / f"{tool}.py").made(native) for file, tool in tools}


def loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_record(parts: dict[str, bytes], files: dict[str, bytes]) -> dict[str, bytes]:
    """The parts of a wheel, whose list of them has these files too."""
    record = next(part for part in parts if part.endswith(".dist-info/RECORD"))
    lines = [line for line in parts[record].decode().splitlines() if line.split(",")[0] not in files]
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}")
    return {**parts, record: ("\n".join(lines) + "\n").encode()}


if __name__ == "__main__":
    write()
