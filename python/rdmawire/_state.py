"""Where the state of an analysis is kept between runs: files here, or of a file system of pyarrow."""

from __future__ import annotations

import importlib
import os
import secrets
from typing import Any, Optional, Tuple, Union
from urllib.parse import quote

from . import _native
from ._errors import Error

PathLike = Union[str, "os.PathLike[str]"]


class _Kept:
    """The state that a run goes on with, and where it leaves its own."""

    def __init__(
        self,
        state_in: Union[PathLike, bytes, None],
        state_out: Optional[PathLike],
        filesystem: Any = None,
        *,
        may_be_missing: bool = False,
    ) -> None:
        """`filesystem`: one of `pyarrow.fs`, for paths that are no URI. `may_be_missing`: without a state, a run begins anew."""
        self._bytes = state_in if isinstance(state_in, bytes) else None
        self._from = None if state_in is None or isinstance(state_in, bytes) else _File(state_in, filesystem)
        self._to = None if state_out is None else _File(state_out, filesystem)
        self._may_be_missing = may_be_missing

    @property
    def is_saved(self) -> bool:
        """Whether the state is wanted."""
        return self._to is not None

    def check(self) -> None:
        """Finds out before the long work whether the state can be written."""
        if self._to is not None:
            _check_replaced(self._to)
            self._to.check_directory()

    def load(self) -> Optional[Tuple[bytes, str]]:
        """The state, and what errors call it."""
        if self._bytes is not None:
            return self._bytes, "bytes"
        if self._from is None:
            return None
        try:
            return self._from.read(), self._from.name
        except FileNotFoundError:
            if self._may_be_missing:
                return None
            raise _error("state_in", self._from, "no such file") from None
        except OSError as error:
            raise _error("state_in", self._from, error.strerror or str(error)) from error

    def save(self, state: Optional[bytes]) -> None:
        """Replaces a state by another one."""
        if self._to is None or state is None:
            return
        _check_replaced(self._to)
        try:
            self._to.replace(state)
        except OSError as error:
            raise _error("state_out", self._to, error.strerror or str(error)) from error


def state_path(directory: PathLike, tap: str) -> str:
    """The file of a tap's state in a directory, which may be a URI. Different taps have different files.

    >>> import rdmawire.taps
    >>> rdmawire.taps.state_path("/states", "leaf1/eth0")
    '/states/leaf1%2Feth0.state'
    """
    return f"{os.fspath(directory).rstrip('/')}/{quote(tap, safe='')}.state"


def _of_tap(state_in: Optional[PathLike], state_out: Optional[PathLike], tap: str, filesystem: Any) -> _Kept:
    """The states of a tap, in directories. A tap that has none begins anew: there are new taps."""
    begin, end = (None if directory is None else state_path(directory, tap) for directory in (state_in, state_out))
    return _Kept(begin, end, filesystem, may_be_missing=True)


def _check_directories(state_in: Optional[PathLike], state_out: Optional[PathLike], filesystem: Any) -> None:
    """A directory with another name would have no state of any tap, which would all begin anew."""
    for what, path in (("state_in", state_in), ("state_out", state_out)):
        if path is not None and not _File(path, filesystem).is_directory():
            raise Error(f"{what}: {os.fspath(path)}: no such directory", file=os.fspath(path))


class _File:
    """A file here, or of a file system of pyarrow."""

    def __init__(self, path: PathLike, filesystem: Any) -> None:
        self.name = os.fspath(path)
        self._filesystem, self._path = filesystem, self.name
        if "://" in self.name:
            self._filesystem, self._path = importlib.import_module("pyarrow.fs").FileSystem.from_uri(self.name)

    def is_directory(self) -> bool:
        if self._filesystem is None:
            return os.path.isdir(self._path)
        return bool(self._filesystem.get_file_info(self._path).type.name == "Directory")

    def check_directory(self) -> None:
        """An object store has directories once something is in them."""
        directory = os.path.dirname(os.path.realpath(self._path))
        if self._filesystem is None and not os.access(directory, os.W_OK):
            raise _error("state_out", self, "no such directory" if not os.path.isdir(directory) else "permission denied")

    def read(self, most: Optional[int] = None) -> bytes:
        if self._filesystem is None:
            with open(self._path, "rb") as file:
                return file.read(-1 if most is None else most)
        with self._filesystem.open_input_file(self._path) as file:
            return bytes(file.read(most))

    def replace(self, data: bytes) -> None:
        """Others see the file as it was, or all of the new one."""
        # A symbolic link stays.
        path = os.path.realpath(self._path) if self._filesystem is None else self._path
        directory, name = os.path.split(path)
        temporary = "/".join([part for part in [directory, f".{name}.{secrets.token_hex(4)}.tmp"] if part])
        try:
            if self._filesystem is None:
                with open(temporary, "xb") as file:
                    file.write(data)
                os.replace(temporary, path)
            else:
                with self._filesystem.open_output_stream(temporary) as stream:
                    stream.write(data)
                self._filesystem.move(temporary, path)
        except BaseException:
            try:
                os.unlink(temporary) if self._filesystem is None else self._filesystem.delete_file(temporary)
            except OSError:
                pass
            raise


def _check_replaced(file: _File) -> None:
    """A state is replaced, but no other file: a capture's name may stand there by mistake."""
    try:
        begin = file.read(16)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _error("state_out", file, error.strerror or str(error)) from error
    if begin and not _native.is_state(begin):
        raise _error("state_out", file, "it exists, and is not the state of an analysis")


def _error(what: str, file: _File, why: str) -> Error:
    return Error(f"{what}: {file.name}: {why}", file=file.name)
