"""Client of the workspace server: isolated development environments on one host."""

from ._async import AsyncClient, AsyncFiles, AsyncProcess, AsyncWorkspace
from ._errors import ConnectionError, WaitTimeoutError, WorkspaceError
from ._events import (
    Changed,
    Deleted,
    DroppedOutput,
    ExecExit,
    ExecOutput,
    ProcessOutput,
    Snapshot,
    WorkspaceEvent,
)
from ._sync import Client, Files, Process, Workspace
from ._types import (
    CreateOptions,
    ExecEnd,
    ExecOptions,
    ExecResult,
    FileInfo,
    Port,
    ProcessInfo,
    ServerInfo,
    SettingsOptions,
    SpawnOptions,
    WorkspaceInfo,
)

__all__ = [
    "AsyncClient",
    "AsyncFiles",
    "AsyncProcess",
    "AsyncWorkspace",
    "Changed",
    "Client",
    "ConnectionError",
    "CreateOptions",
    "Deleted",
    "DroppedOutput",
    "ExecEnd",
    "ExecExit",
    "ExecOptions",
    "ExecOutput",
    "ExecResult",
    "FileInfo",
    "Files",
    "Port",
    "Process",
    "ProcessInfo",
    "ProcessOutput",
    "ServerInfo",
    "SettingsOptions",
    "Snapshot",
    "SpawnOptions",
    "WaitTimeoutError",
    "Workspace",
    "WorkspaceError",
    "WorkspaceEvent",
    "WorkspaceInfo",
]
