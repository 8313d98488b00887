"""Events of streams."""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from ._types import CodeEnd, CodeResult, ExecEnd, WorkspaceInfo

Data = TypeVar("Data", str, bytes)


@dataclass(frozen=True, slots=True)
class ExecOutput(Generic[Data]):
    """A piece of output of a program."""

    type: Literal["stdout", "stderr"]
    data: Data


@dataclass(frozen=True, slots=True)
class ExecExit:
    """The end of a program."""

    end: ExecEnd
    type: Literal["exit"] = "exit"


@dataclass(frozen=True, slots=True)
class ProcessOutput:
    """A piece of output of a background process, and the position after it."""

    type: Literal["stdout", "stderr"]
    data: str
    position: int


@dataclass(frozen=True, slots=True)
class DroppedOutput:
    """Output that was no longer kept when it was read."""

    bytes: int
    type: Literal["dropped"] = "dropped"


@dataclass(frozen=True, slots=True)
class CodeOutput:
    """A piece of output of code."""

    type: Literal["stdout", "stderr"]
    data: str


@dataclass(frozen=True, slots=True)
class CodeDisplay:
    """A result of code: the value of its last expression, or what it displayed."""

    result: CodeResult
    type: Literal["result"] = "result"


@dataclass(frozen=True, slots=True)
class CodeExit:
    """The end of code."""

    end: CodeEnd
    type: Literal["end"] = "end"


@dataclass(frozen=True, slots=True)
class WatchReady:
    """The start of a watch: changes are seen from now on."""

    type: Literal["ready"] = "ready"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change below a watched directory, with a path relative to it."""

    type: Literal["create", "write", "remove", "rename", "chmod"]
    path: str
    #: Percent-encoded bytes; only of a path that is not UTF-8.
    path_encoded: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All workspaces, at the start and after each lost connection."""

    workspaces: tuple[WorkspaceInfo, ...]
    type: Literal["snapshot"] = "snapshot"


@dataclass(frozen=True, slots=True)
class Changed:
    """A workspace that was created or changed."""

    type: Literal["created", "changed"]
    workspace: WorkspaceInfo


@dataclass(frozen=True, slots=True)
class Deleted:
    """A workspace that was deleted."""

    name: str
    type: Literal["deleted"] = "deleted"


WorkspaceEvent = Snapshot | Changed | Deleted
