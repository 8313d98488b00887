"""Finds the server."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ._errors import ConnectionError

LOCAL = "http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a server."""

    #: http://…, https://…, or unix:///path/of/socket.
    url: str
    token: str | None

    @property
    def socket_path(self) -> str | None:
        """Path of a Unix socket."""
        return unquote(urlsplit(self.url).path) if self.url.startswith("unix:") else None


def find_address(url: str | None, token: str | None) -> Address:
    """Returns the given address, else that of WORKSPACE_URL, else that of the server on this machine."""
    # The token of the environment belongs to the server of the environment, not to any URL.
    if url is not None:
        return Address(_checked(url), token)
    environment_url = os.environ.get("WORKSPACE_URL")
    if environment_url:
        file = os.environ.get("WORKSPACE_TOKEN_FILE") or None
        return Address(_checked(environment_url), token or _read_token(file))
    return _find_local(token)


def unreachable(address: Address, why: str) -> ConnectionError:
    """Returns the error for a server that does not respond."""
    return ConnectionError(
        f"the workspace server at {address.url} is not responding ({why}); "
        'start it with "workspace serve", or select another with WORKSPACE_URL'
    )


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme in ("http", "https") and parts.netloc or parts.scheme == "unix" and len(parts.path) > 1:
        return url
    raise ConnectionError(
        f'"{url}" is not a valid server URL; use one such as {LOCAL} or unix:///path/to/socket',
        "SERVER_URL_INVALID",
    )


def _read_token(file: str | None) -> str | None:
    if file is None:
        return None
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConnectionError(
            f"cannot read the token file ({error}); set its path in WORKSPACE_TOKEN_FILE, "
            "or unset it if the server requires no token",
            "TOKEN_FILE_UNREADABLE",
        ) from error


def _find_local(token: str | None) -> Address:
    """Returns the server that is recorded in this user's state directory, else the default address."""
    try:
        record = json.loads((_state_dir() / "server.json").read_text(encoding="utf-8"))
        process, url, file = record["process"], _checked(record["url"]), record["tokenFile"]
        is_running = _identity(int(process["pid"])) == (process["began"], process["boot"])
    except (OSError, ValueError, KeyError, TypeError, ConnectionError):
        return Address(LOCAL, token)
    return Address(url, token or _read_token(file)) if is_running else Address(LOCAL, token)


def _state_dir() -> Path:
    if os.getuid() == 0:
        return Path("/var/lib/workspace")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "workspace"


def _identity(pid: int) -> tuple[str, str]:
    """Returns start time and boot id of a process: a token must not reach another one with a reused id."""
    os.kill(pid, 0)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        began = stat[stat.rindex(")") + 2 :].split(" ")[19]
    except OSError:
        began = ""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    return began, boot
