"""What can go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence

if TYPE_CHECKING:
    from ._check import Outcome


class Error(Exception):
    """A capture, a text or an argument that is wrong.

    `file`, `frame` (from 1) and `offset` (in bytes, in the file or in the text) say where, as far as that is known; else they are
    `None`.

    >>> import rdmawire
    >>> try:
    ...     rdmawire.analyze("nowhere.pcap")
    ... except rdmawire.Error as error:
    ...     print(error, "|", error.file)
    nowhere.pcap: no such file or directory | nowhere.pcap
    """

    file: Optional[str]
    frame: Optional[int]
    offset: Optional[int]

    def __init__(
        self,
        message: str,
        *,
        file: Optional[str] = None,
        frame: Optional[int] = None,
        offset: Optional[int] = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.frame = frame
        self.offset = offset


class CheckFailed(AssertionError):
    """A capture does not keep a rule, or does not decide it. The text shows flows and frames; `outcomes` has them as data."""

    outcomes: Sequence[Outcome]

    def __init__(self, text: str, outcomes: Sequence[Outcome]) -> None:
        super().__init__(text)
        self.outcomes = outcomes
