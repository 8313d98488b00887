"""Requests, responses and events on the wire, for both clients."""

import base64
import codecs
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import quote, quote_from_bytes

import httpx

from ._errors import WorkspaceError
from ._events import (
    Changed,
    CodeDisplay,
    CodeExit,
    CodeOutput,
    Deleted,
    DroppedOutput,
    ExecExit,
    ExecOutput,
    ProcessOutput,
    Snapshot,
    WorkspaceEvent,
)
from ._types import CodeEnd, CodeResult, ExecEnd, ExecResult, WorkspaceInfo

#: A request that changes nothing is repeated this often while the server asks for it.
MAX_REPEATS = 4
MAX_PAUSE_S = 10.0
FIRST_RETRY_S = 0.05
LAST_RETRY_S = 2.0
RECONNECT_MS = 30_000
#: No output has this position.
LAST_POSITION = 2**53 - 1
PIECE_BYTES = 64 * 1024
BINARY = "application/octet-stream"
#: Streams carry a comment every 15 s, so a longer silence means that the server has vanished.
SILENCE = httpx.Timeout(30, read=45, write=None, pool=None)
#: A program may run for days.
PATIENT = httpx.Timeout(30, read=None, write=None, pool=None)
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=30)

Program = str | Sequence[str]
Encoding = Literal["utf8", "bytes"]
#: Names that are not UTF-8 are bytes: `urllib.parse.unquote_to_bytes` of the field `name_encoded` of a file.
FilePath = str | bytes


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a stream."""

    event: str
    data: Any
    id: str | None


class EventParser:
    """Parses server-sent events. Only line feeds and carriage returns end a line, unlike for `str.splitlines`."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self._fields: dict[str, str] = {}

    def feed(self, chunk: bytes) -> list[Event]:
        """Returns the events that a piece of the stream completes."""
        # The server ends lines with LF alone, and its data are single lines.
        first, *rest = self._decoder.decode(chunk).split("\n")
        self._parts.append(first)
        events: list[Event] = []
        for text in rest:
            line, self._parts = "".join(self._parts), [text]
            if line != "":
                name, _, value = line.partition(":")
                self._fields[name] = value.removeprefix(" ")
                continue
            fields, self._fields = self._fields, {}
            if "data" in fields:
                data = json.loads(fields["data"])
                events.append(Event(fields.get("event", "message"), data, fields.get("id")))
        return events


def workspace_path(name: str) -> str:
    """Returns the API path of a workspace."""
    return f"/api/workspaces/{quote(name, safe='')}"


def process_path(path: str, id: str) -> str:
    """Returns the API path of a background process."""
    return f"{path}/processes/{quote(id, safe='')}"


def context_path(path: str, id: str) -> str:
    """Returns the API path of an interpreter."""
    return f"{path}/contexts/{quote(id, safe='')}"


def checkpoint_path(path: str, id: str) -> str:
    """Returns the API path of a checkpoint."""
    return f"{path}/checkpoints/{quote(id, safe='')}"


def query_of(
    **values: str | int | bool | list[str] | None,
) -> list[tuple[str, str | int | float | bool | None]]:
    """Returns query parameters without those that are None."""
    pairs: list[tuple[str, str | int | float | bool | None]] = []
    for name, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                pairs.append((name, each))
    return pairs


def path_field(name: Literal["path", "from", "to"], path: FilePath) -> dict[str, str]:
    """Returns a path in the field that its form requires."""
    return {name: path} if isinstance(path, str) else {f"{name}_encoded": quote_from_bytes(path)}


def label_query(labels: Mapping[str, str | Literal[True]] | None) -> list[str]:
    """Returns filters by label; True accepts any value."""
    return [key if value is True else f"{key}={value}" for key, value in (labels or {}).items()]


def program_body(program: Program, encoding: Encoding | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the body of a request that starts a program."""
    what = {"command": program} if isinstance(program, str) else {"argv": list(program)}
    wire = {} if encoding is None else {"encoding": "base64" if encoding == "bytes" else "utf8"}
    return {**what, **without_none(options), **wire}


def without_none(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that are set."""
    return {name: value for name, value in options.items() if value is not None}


def error_of(response: httpx.Response) -> WorkspaceError:
    """Returns the error of a response whose body has been read."""
    try:
        error = response.json()["error"]
        return WorkspaceError(str(error["code"]), response.status_code, str(error["message"]))
    except (ValueError, KeyError, TypeError):
        status = response.status_code
        return WorkspaceError("INTERNAL_ERROR", status, f"the server answered {status}")


def pause_before_repeat(method: str, response: httpx.Response, repeats: int) -> float | None:
    """Returns the seconds after which a request that changes nothing is sent again; None if it is not."""
    after = response.headers.get("retry-after", "")
    if method != "GET" or response.status_code != 503 or not after.isdigit() or repeats == MAX_REPEATS:
        return None
    return min(int(after) + FIRST_RETRY_S * float(2**repeats), MAX_PAUSE_S)


def exec_result(data: Mapping[str, Any], encoding: Encoding) -> ExecResult[Any]:
    """Decodes the result of a program."""
    result: ExecResult[Any] = ExecResult.from_wire(data)
    if encoding == "utf8":
        return result
    return replace(
        result, stdout=base64.b64decode(result.stdout), stderr=base64.b64decode(result.stderr)
    )


def output_name(event: Event) -> Literal["stdout", "stderr"] | None:
    """Returns the stream that an event is output of."""
    return "stdout" if event.event == "stdout" else "stderr" if event.event == "stderr" else None


def exec_event(event: Event, encoding: Encoding) -> ExecOutput[Any] | ExecExit | None:
    """Decodes an event of a program; None for one that a later version of the server may send."""
    if event.event == "exit":
        return ExecExit(ExecEnd.from_wire(event.data))
    name = output_name(event)
    if name is None:
        return None
    text = event.data["text"]
    return ExecOutput(name, base64.b64decode(text) if encoding == "bytes" else text)


def code_event(event: Event) -> CodeOutput | CodeDisplay | CodeExit | None:
    """Decodes an event of code; None for one that a later version of the server may send."""
    if event.event == "end":
        return CodeExit(CodeEnd.from_wire(event.data))
    if event.event == "result":
        return CodeDisplay(CodeResult.from_wire(event.data))
    name = output_name(event)
    return None if name is None else CodeOutput(name, event.data["text"])


def process_output(event: Event) -> ProcessOutput | DroppedOutput | None:
    """Decodes output of a background process."""
    if event.event == "dropped":
        return DroppedOutput(int(event.data["bytes"]))
    name = output_name(event)
    return None if name is None else ProcessOutput(name, event.data["text"], int(event.id or 0))


def workspace_event(event: Event) -> WorkspaceEvent | None:
    """Decodes a change of workspaces."""
    if event.event == "snapshot":
        return Snapshot(tuple(WorkspaceInfo.from_wire(each) for each in event.data["workspaces"]))
    if event.event != "workspace":
        return None
    if event.data["type"] == "deleted":
        return Deleted(event.data["name"])
    return Changed(event.data["type"], WorkspaceInfo.from_wire(event.data["workspace"]))
