"""The asynchronous client. scripts/python-sdk.ts derives the synchronous one from this file."""

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from os import SEEK_END
from types import TracebackType
from typing import Any, BinaryIO, Literal, Self, Unpack, cast, overload

import httpx

from ._address import Address, find_address, unreachable
from ._errors import ConnectionError, WaitTimeoutError, WorkspaceError
from ._events import (
    CodeDisplay,
    CodeExit,
    CodeOutput,
    DroppedOutput,
    ExecExit,
    ExecOutput,
    FileChange,
    ProcessOutput,
    WatchReady,
    WorkspaceEvent,
)
from ._types import (
    Checkpoint,
    CodeContext,
    CodeLanguage,
    CodeOptions,
    CodeRun,
    ContextOptions,
    CreateOptions,
    ExecOptions,
    ExecResult,
    FileInfo,
    ForkOptions,
    MoveOptions,
    Port,
    ProcessInfo,
    ReadOptions,
    RemoveOptions,
    ServerInfo,
    SettingsOptions,
    Signal,
    SpawnOptions,
    WorkspaceInfo,
    WriteOptions,
)
from ._wire import (
    BINARY,
    FIRST_RETRY_S,
    LAST_POSITION,
    LAST_RETRY_S,
    LIMITS,
    PATIENT,
    PIECE_BYTES,
    RECONNECT_MS,
    SILENCE,
    Encoding,
    Event,
    EventParser,
    FilePath,
    Program,
    checkpoint_path,
    code_event,
    context_path,
    error_of,
    exec_event,
    exec_result,
    label_query,
    path_field,
    pause_before_repeat,
    process_output,
    process_path,
    program_body,
    query_of,
    without_none,
    workspace_event,
    workspace_path,
)

Query = list[tuple[str, str | int | float | bool | None]]


class AsyncTransport:
    """Sends requests to one server."""

    def __init__(self, address: Address) -> None:
        self._address = address
        path = address.socket_path
        self._http = httpx.AsyncClient(
            base_url=address.url if path is None else "http://localhost",
            transport=httpx.AsyncHTTPTransport(uds=path, limits=LIMITS),
            headers={} if address.token is None else {"authorization": f"Bearer {address.token}"},
            timeout=PATIENT,
            trust_env=False,
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Mapping[str, Any] | None = None,
        content: tuple[int | None, AsyncIterable[bytes]] | None = None,
    ) -> Any:
        """Sends a request and returns its decoded response; None for one without content."""
        async with self.open(method, path, "application/json", query=query, body=body, content=content) as response:
            text = await response.aread()
            if response.status_code == 204:
                return None
            try:
                return response.json()
            except ValueError:
                raise unreachable(
                    self._address, f"the response is not from a workspace server: {text[:40]!r}"
                ) from None

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        accept: str,
        *,
        query: Query | None = None,
        body: Mapping[str, Any] | None = None,
        content: tuple[int | None, AsyncIterable[bytes]] | None = None,
        timeout: httpx.Timeout = PATIENT,
    ) -> AsyncIterator[httpx.Response]:
        """Sends a request and yields its successful response.

        One that changes nothing is repeated while the server answers 503 with Retry-After; others never are.
        """
        headers = {"accept": accept}
        if content is not None:
            headers["content-type"] = BINARY
            if content[0] is not None:
                headers["content-length"] = str(content[0])
        repeats = 0
        try:
            while True:
                async with self._http.stream(
                    method,
                    path,
                    params=query,
                    json=body,
                    content=None if content is None else content[1],
                    headers=headers,
                    timeout=timeout,
                ) as response:
                    if response.status_code < 300:
                        yield response
                        return
                    await response.aread()
                    pause = pause_before_repeat(method, response, repeats)
                    if pause is None:
                        raise error_of(response)
                repeats += 1
                await asyncio.sleep(pause)
        except httpx.TransportError as error:
            raise unreachable(self._address, str(error) or type(error).__name__) from error

    async def events(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Mapping[str, Any] | None = None,
        on_open: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[Event]:
        """Sends a request whose response is a stream of events."""
        async with self.open(method, path, "text/event-stream", query=query, body=body, timeout=SILENCE) as response:
            on_open()
            parser = EventParser()
            async for chunk in response.aiter_bytes():
                for event in parser.feed(chunk):
                    if event.event == "error":
                        raise WorkspaceError(event.data["code"], response.status_code, event.data["message"])
                    yield event

    async def follow(
        self,
        open: Callable[[Callable[[], None]], AsyncIterator[Event]],
        reconnect_ms: float,
        last: str | None = None,
    ) -> AsyncIterator[Event]:
        """Yields events up to the one named `last`, and opens the stream again when the connection is lost."""
        end = 0.0
        retry = FIRST_RETRY_S

        def opened() -> None:
            nonlocal end, retry
            end, retry = float("inf"), FIRST_RETRY_S

        while True:
            lost = unreachable(self._address, "the stream ended")
            try:
                async for event in open(opened):
                    yield event
                    if event.event == last:
                        return
            except ConnectionError as error:
                lost = error
            now = time.monotonic()
            if end == float("inf"):
                end = now + reconnect_ms / 1000
            if now + retry > end:
                raise lost
            await asyncio.sleep(retry)
            retry = min(2 * retry, LAST_RETRY_S)


class AsyncFiles:
    """Files of a running workspace. Paths are absolute, or relative to /workspace, as text or as bytes."""

    def __init__(self, transport: AsyncTransport, path: str) -> None:
        self._transport = transport
        self._path = f"{path}/files"

    async def read(self, path: FilePath, **options: Unpack[ReadOptions]) -> bytes:
        """Reads a file or a part of it."""
        query = query_of(**path_field("path", path), **options)
        async with self._transport.open("GET", self._path, BINARY, query=query) as response:
            return await response.aread()

    async def read_text(self, path: FilePath, **options: Unpack[ReadOptions]) -> str:
        """Reads a text file in UTF-8."""
        return (await self.read(path, **options)).decode("utf-8", "replace")

    async def read_stream(self, path: FilePath, **options: Unpack[ReadOptions]) -> AsyncIterator[bytes]:
        """Reads a file in pieces, no faster than they are consumed."""
        query = query_of(**path_field("path", path), **options)
        async with self._transport.open("GET", self._path, BINARY, query=query) as response:
            async for piece in response.aiter_bytes():
                yield piece

    async def write(
        self,
        path: FilePath,
        content: str | bytes | BinaryIO | AsyncIterable[bytes],
        *,
        length: int | None = None,
        **options: Unpack[WriteOptions],
    ) -> None:
        """Writes a file; it is replaced as a whole once all bytes have arrived, within 30 s.

        An iterable needs its length in bytes.
        """
        query = query_of(**path_field("path", path), **options)
        await self._transport.ask("PUT", self._path, query=query, content=_sent(content, length))

    async def download_archive(self, path: FilePath) -> AsyncIterator[bytes]:
        """Reads a directory as a tar archive, in pieces.

        It is complete when the iteration ends without an error.
        """
        query = query_of(**path_field("path", path))
        async with self._transport.open("GET", f"{self._path}/archive", BINARY, query=query) as response:
            async for piece in response.aiter_bytes():
                yield piece

    async def upload_archive(
        self, path: FilePath, archive: bytes | BinaryIO | AsyncIterable[bytes], *, create_parents: bool = False
    ) -> None:
        """Extracts a tar archive into a directory. Files extracted before a failure remain."""
        query = query_of(**path_field("path", path), create_parents=create_parents)
        content = (None, _pieces(archive))
        await self._transport.ask("PUT", f"{self._path}/archive", query=query, content=content)

    async def list(self, path: FilePath) -> tuple[FileInfo, ...]:
        """Lists a directory."""
        answer = await self._transport.ask("GET", f"{self._path}/list", query=query_of(**path_field("path", path)))
        return tuple(FileInfo.from_wire(each) for each in answer["files"])

    async def stat(self, path: FilePath) -> FileInfo:
        """Returns type, size, permissions and time of a file."""
        answer = await self._transport.ask("GET", f"{self._path}/stat", query=query_of(**path_field("path", path)))
        return FileInfo.from_wire(answer)

    async def watch(self, path: FilePath, *, recursive: bool = False) -> AsyncIterator[WatchReady | FileChange]:
        """Watches a directory: yields its start, and then its changes. Ending the iteration ends the watch."""
        query = query_of(**path_field("path", path), recursive=recursive)
        async for event in self._transport.events("GET", f"{self._path}/watch", query=query):
            if event.event == "ready":
                yield WatchReady()
            if event.event == "change":
                yield FileChange(event.data["type"], event.data["path"], event.data.get("path_encoded"))
        raise ConnectionError(f"the connection to the watch of {path!r} was lost")

    async def mkdir(self, path: FilePath) -> None:
        """Creates a directory and the missing ones above it."""
        await self._transport.ask("POST", f"{self._path}/directory", body=path_field("path", path))

    async def move(self, source: FilePath, target: FilePath, **options: Unpack[MoveOptions]) -> None:
        """Moves or renames a file or directory."""
        body = {**path_field("from", source), **path_field("to", target), **without_none(options)}
        await self._transport.ask("POST", f"{self._path}/move", body=body)

    async def remove(self, path: FilePath, **options: Unpack[RemoveOptions]) -> None:
        """Removes a file or directory."""
        await self._transport.ask("DELETE", self._path, query=query_of(**path_field("path", path), **options))


class AsyncProcess:
    """A program in the background of a workspace. It continues without its client, and ends with the server."""

    def __init__(self, transport: AsyncTransport, workspace_path: str, id: str) -> None:
        self.id = id
        self._transport = transport
        self._path = process_path(workspace_path, id)

    async def info(self) -> ProcessInfo:
        """Returns its state."""
        return ProcessInfo.from_wire(await self._transport.ask("GET", self._path))

    async def output(
        self, *, after: int = 0, reconnect_ms: float = RECONNECT_MS
    ) -> AsyncIterator[ProcessOutput | DroppedOutput]:
        """Yields its output until it ends. After a lost connection, it continues where the output stopped."""
        position = after

        def open(on_open: Callable[[], None]) -> AsyncIterator[Event]:
            return self._events(position, on_open)

        async for event in self._transport.follow(open, reconnect_ms, "exit"):
            output = process_output(event)
            if isinstance(output, ProcessOutput):
                position = output.position
            if output is not None:
                yield output

    async def wait(self, *, reconnect_ms: float = RECONNECT_MS) -> ProcessInfo:
        """Returns its state once it has ended."""

        def open(on_open: Callable[[], None]) -> AsyncIterator[Event]:
            return self._events(LAST_POSITION, on_open)

        async for event in self._transport.follow(open, reconnect_ms, "exit"):
            if event.event == "exit":
                return ProcessInfo.from_wire(event.data)
        return await self.info()

    async def write(self, text: str, *, end: bool = False) -> None:
        """Writes to its standard input; `end` closes it afterwards."""
        await self._transport.ask("POST", f"{self._path}/input", body={"text": text, "end": end})

    async def signal(self, name: Signal) -> None:
        """Sends a signal to it and its children."""
        await self._transport.ask("POST", f"{self._path}/signal", body={"signal": name})

    def _events(self, after: int, on_open: Callable[[], None]) -> AsyncIterator[Event]:
        return self._transport.events("GET", f"{self._path}/output", query=query_of(after=after), on_open=on_open)


class AsyncCode:
    """Interpreters of a running workspace, which keep their state between runs and end with the workspace."""

    def __init__(self, transport: AsyncTransport, path: str) -> None:
        self._transport = transport
        self._path = f"{path}/code"

    async def run(self, code: str, **options: Unpack[CodeOptions]) -> CodeRun:
        """Runs code, by default Python, and returns its output and results.

        An exception of the code is in `error`.
        """
        body = {"code": code, **without_none(options)}
        return CodeRun.from_wire(await self._transport.ask("POST", self._path, body=body))

    async def stream(
        self, code: str, **options: Unpack[CodeOptions]
    ) -> AsyncIterator[CodeOutput | CodeDisplay | CodeExit]:
        """Runs code and yields output and results as they arrive, then how it ended.

        Ending the iteration interrupts it.
        """
        body = {"code": code, **without_none(options)}
        async for event in self._transport.events("POST", self._path, body=body):
            read = code_event(event)
            if read is not None:
                yield read
            if isinstance(read, CodeExit):
                return
        raise ConnectionError("the connection to the interpreter was lost")

    async def create_context(self, language: CodeLanguage, **options: Unpack[ContextOptions]) -> CodeContext:
        """Starts an interpreter with a separate state."""
        body = {"language": language, **without_none(options)}
        return CodeContext.from_wire(await self._transport.ask("POST", f"{self._path}/contexts", body=body))

    async def contexts(self) -> tuple[CodeContext, ...]:
        """Lists interpreters, oldest first; the id of a language's default one is the language."""
        answer = await self._transport.ask("GET", f"{self._path}/contexts")
        return tuple(CodeContext.from_wire(each) for each in answer["contexts"])

    async def delete_context(self, id: str) -> None:
        """Ends an interpreter, and the code that runs in it."""
        await self._transport.ask("DELETE", context_path(self._path, id))


class AsyncWorkspace:
    """A workspace of a server."""

    def __init__(self, transport: AsyncTransport, info: WorkspaceInfo) -> None:
        self.name = info.name
        #: State at the last request that returned it; `refresh` updates it.
        self.info = info
        self._transport = transport
        self._path = workspace_path(info.name)
        self.files = AsyncFiles(transport, self._path)
        self.code = AsyncCode(transport, self._path)

    async def refresh(self) -> WorkspaceInfo:
        """Requests the current state."""
        return await self._update("GET", "")

    async def start(self) -> WorkspaceInfo:
        """Starts the workspace; a suspended one continues its programs."""
        return await self._update("POST", "/start")

    async def stop(self) -> WorkspaceInfo:
        """Stops the workspace and keeps its files."""
        return await self._update("POST", "/stop")

    async def suspend(self) -> WorkspaceInfo:
        """Saves the memory of a running virtual machine and stops it."""
        return await self._update("POST", "/suspend")

    async def reset(self) -> WorkspaceInfo:
        """Resets a stopped virtual machine to its image."""
        return await self._update("POST", "/reset")

    async def set(self, **settings: Unpack[SettingsOptions]) -> WorkspaceInfo:
        """Changes settings; None restores a default, or removes a label."""
        return await self._update("PATCH", "", settings)

    async def delete(self, *, keep_volume: bool = False) -> None:
        """Deletes the workspace; `keep_volume` keeps its files for the next one with the same name."""
        await self._transport.ask("DELETE", self._path, query=query_of(keep_volume=keep_volume))

    async def rename(self, name: str) -> "AsyncWorkspace":
        """Renames the stopped virtual machine.

        Returns it under its new name; this object keeps the old one.
        """
        answer = await self._transport.ask("POST", f"{self._path}/rename", body={"name": name})
        return AsyncWorkspace(self._transport, WorkspaceInfo.from_wire(answer))

    async def fork(self, **options: Unpack[ForkOptions]) -> "list[AsyncWorkspace]":
        """Creates workspaces with its files and settings, and with its programs where that is possible."""
        answer = await self._transport.ask("POST", f"{self._path}/fork", body=options)
        return [
            AsyncWorkspace(self._transport, WorkspaceInfo.from_wire(each))
            for each in answer["workspaces"]
        ]

    async def checkpoint(self, *, label: str | None = None) -> Checkpoint:
        """Keeps the current files, without memory, so that a rewind can put them back."""
        answer = await self._transport.ask("POST", f"{self._path}/checkpoints", body={"label": label})
        return Checkpoint.from_wire(answer)

    async def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Lists checkpoints, oldest first."""
        answer = await self._transport.ask("GET", f"{self._path}/checkpoints")
        return tuple(Checkpoint.from_wire(each) for each in answer["checkpoints"])

    async def delete_checkpoint(self, id: str) -> None:
        """Deletes the checkpoint with an id."""
        await self._transport.ask("DELETE", checkpoint_path(self._path, id))

    async def rewind(self, to: str) -> Checkpoint:
        """Puts back the files of a checkpoint; its programs end.

        `to` is the id of the checkpoint, or a duration such as `10m` for the newest that is at least that old. Returns
        a checkpoint of the files before, which undoes the rewind.
        """
        answer = await self._transport.ask("POST", f"{self._path}/rewind", body={"to": to})
        self.info = WorkspaceInfo.from_wire(answer["workspace"])
        return Checkpoint.from_wire(answer["before"])

    async def export(self) -> AsyncIterator[bytes]:
        """Exports the running workspace as an archive, in pieces.

        It is complete when the iteration ends without an error.
        """
        async with self._transport.open("GET", f"{self._path}/export", BINARY) as response:
            async for piece in response.aiter_bytes():
                yield piece

    @overload
    async def exec(
        self, program: Program, *, encoding: Literal["utf8"] = "utf8", **options: Unpack[ExecOptions]
    ) -> ExecResult[str]: ...

    @overload
    async def exec(
        self, program: Program, *, encoding: Literal["bytes"], **options: Unpack[ExecOptions]
    ) -> ExecResult[bytes]: ...

    async def exec(
        self, program: Program, *, encoding: Encoding = "utf8", **options: Unpack[ExecOptions]
    ) -> ExecResult[Any]:
        """Runs a program to its end and returns its output."""
        body = program_body(program, encoding, options)
        return exec_result(await self._transport.ask("POST", f"{self._path}/exec", body=body), encoding)

    async def exec_stream(
        self, program: Program, *, encoding: Encoding = "utf8", **options: Unpack[ExecOptions]
    ) -> AsyncIterator[ExecOutput[Any] | ExecExit]:
        """Runs a program and yields its output as it arrives, then how it ended.

        The program waits for a slow reader. Ending the iteration hangs it up.
        """
        body = program_body(program, encoding, options)
        async for event in self._transport.events("POST", f"{self._path}/exec", body=body):
            read = exec_event(event, encoding)
            if read is not None:
                yield read
            if isinstance(read, ExecExit):
                return
        raise ConnectionError(f'the connection to the program in workspace "{self.name}" was lost')

    async def spawn(self, program: Program, **options: Unpack[SpawnOptions]) -> "AsyncProcess":
        """Starts a program in the background."""
        body = program_body(program, None, options)
        return self.process((await self._transport.ask("POST", f"{self._path}/processes", body=body))["id"])

    def process(self, id: str) -> AsyncProcess:
        """Returns the background process with an id, without a request."""
        return AsyncProcess(self._transport, self._path, id)

    async def processes(self) -> tuple[ProcessInfo, ...]:
        """Lists background processes, oldest first."""
        answer = await self._transport.ask("GET", f"{self._path}/processes")
        return tuple(ProcessInfo.from_wire(each) for each in answer["processes"])

    async def ports(self) -> tuple[Port, ...]:
        """Lists listening TCP ports."""
        answer = await self._transport.ask("GET", f"{self._path}/ports")
        return tuple(Port.from_wire(each) for each in answer["ports"])

    async def wait_for_port(self, port: int, *, timeout_ms: int | None = None) -> Port:
        """Returns when a program listens on a port; it waits for 30 s by default."""
        query = query_of(timeout_ms=timeout_ms)
        try:
            return Port.from_wire(
                await self._transport.ask("GET", f"{self._path}/ports/{port}/wait", query=query)
            )
        except WorkspaceError as error:
            if error.code == WaitTimeoutError.code:
                raise WaitTimeoutError(str(error)) from None
            raise

    async def preview_url(self, port: int, *, valid_s: int | None = None) -> str:
        """Returns a URL that opens a port in a browser.

        If the server requires a token, it is valid once, for 30 s; with ``valid_s``, any number of
        times for so many seconds.
        """
        body: dict[str, Any] = {"for": "port", "port": port}
        if valid_s is not None:
            body["valid_s"] = valid_s
        return str((await self._transport.ask("POST", f"{self._path}/passes", body=body))["url"])

    async def _update(self, method: str, action: str, body: Mapping[str, Any] | None = None) -> WorkspaceInfo:
        self.info = WorkspaceInfo.from_wire(await self._transport.ask(method, self._path + action, body=body))
        return self.info


class AsyncClient:
    """A workspace server. Without a URL: that of WORKSPACE_URL, else the server on this machine."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self._transport = AsyncTransport(find_address(url, token))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes all connections."""
        await self._transport.aclose()

    async def info(self) -> ServerInfo:
        """Returns the server's name, version and available backends."""
        return ServerInfo.from_wire(await self._transport.ask("GET", "/api/info"))

    async def list(
        self, *, labels: Mapping[str, str | Literal[True]] | None = None
    ) -> tuple[AsyncWorkspace, ...]:
        """Lists workspaces that have all these labels, oldest first; True accepts any value."""
        query = query_of(label=label_query(labels))
        answer = await self._transport.ask("GET", "/api/workspaces", query=query)
        return tuple(
            AsyncWorkspace(self._transport, WorkspaceInfo.from_wire(each)) for each in answer["workspaces"]
        )

    async def get(self, name: str) -> AsyncWorkspace:
        """Returns the workspace with a name."""
        answer = await self._transport.ask("GET", workspace_path(name))
        return AsyncWorkspace(self._transport, WorkspaceInfo.from_wire(answer))

    async def create(
        self,
        name: str,
        *,
        on_progress: Callable[[str], None] | None = None,
        **options: Unpack[CreateOptions],
    ) -> AsyncWorkspace:
        """Creates a workspace and returns it once it is running.

        Canceling the task, or interrupting the program, removes what the server has begun to create.
        """
        is_accepted = False

        def accepted() -> None:
            nonlocal is_accepted
            is_accepted = True

        body = {"name": name, **without_none(options)}
        try:
            async for event in self._transport.events("POST", "/api/workspaces", body=body, on_open=accepted):
                if event.event == "progress" and on_progress is not None:
                    on_progress(event.data["message"])
                if event.event == "complete":
                    return AsyncWorkspace(self._transport, WorkspaceInfo.from_wire(event.data))
        except (asyncio.CancelledError, KeyboardInterrupt):
            # Before the server has accepted the request, the name may be that of another workspace.
            if is_accepted:
                await self._cancel(name)
            raise
        raise ConnectionError(f'the connection was lost while workspace "{name}" was created')

    async def import_workspace(
        self,
        archive: bytes | BinaryIO | AsyncIterable[bytes],
        *,
        name: str | None = None,
        backend: str | None = None,
        image: str | None = None,
    ) -> AsyncWorkspace:
        """Creates a workspace from an archive and returns it once it is running."""
        query = query_of(name=name, backend=backend, image=image)
        content = _pieces(archive)
        answer = await self._transport.ask("POST", "/api/workspaces/import", query=query, content=(None, content))
        return AsyncWorkspace(self._transport, WorkspaceInfo.from_wire(answer))

    async def events(self, *, reconnect_ms: float = RECONNECT_MS) -> AsyncIterator[WorkspaceEvent]:
        """Yields all workspaces as `Snapshot`, then every change.

        After a lost connection, it begins with a snapshot again.
        """

        def open(on_open: Callable[[], None]) -> AsyncIterator[Event]:
            return self._transport.events("GET", "/api/events", on_open=on_open)

        async for event in self._transport.follow(open, reconnect_ms):
            change = workspace_event(event)
            if change is not None:
                yield change

    async def _cancel(self, name: str) -> None:
        try:
            await self._transport.ask("DELETE", workspace_path(name))
        except WorkspaceError as error:
            # The creation failed first, and removed what it had created.
            if error.code != "WORKSPACE_NOT_FOUND":
                raise


def _sent(
    content: str | bytes | BinaryIO | AsyncIterable[bytes], length: int | None
) -> tuple[int, AsyncIterable[bytes]]:
    if isinstance(content, str):
        content = content.encode()
    if isinstance(content, bytes):
        return len(content), _of_bytes(content)
    if hasattr(content, "read"):
        file = cast(BinaryIO, content)
        start = file.tell()
        size = file.seek(0, SEEK_END) - start
        file.seek(start)
        return size, _of_length(_of_file(file), size)
    if length is None:
        raise TypeError('the length of an iterable is unknown: set "length", or pass a file')
    return length, _of_length(content, length)


def _pieces(content: bytes | BinaryIO | AsyncIterable[bytes]) -> AsyncIterable[bytes]:
    if isinstance(content, bytes):
        return _of_bytes(content)
    if hasattr(content, "read"):
        return _of_file(cast(BinaryIO, content))
    return content


async def _of_bytes(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def _of_file(content: BinaryIO) -> AsyncIterator[bytes]:
    while piece := content.read(PIECE_BYTES):
        yield piece


async def _of_length(content: AsyncIterable[bytes], length: int) -> AsyncIterator[bytes]:
    left = length
    async for piece in content:
        left -= len(piece)
        if left < 0:
            break
        yield piece
    if left != 0:
        raise ValueError(f"the content does not have exactly {length} bytes")
