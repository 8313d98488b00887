"""Errors of the client."""


class WorkspaceError(Exception):
    """An error that the server reported. Its codes are in docs/workspace/errors.md."""

    def __init__(self, code: str, status: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        #: Status of the response; 200 when the error ended a stream that had begun.
        self.status = status
        self.message = message


class ConnectionError(Exception):  # noqa: A001
    """A missing or lost connection: the address is invalid, no server responds, or its response is incomplete."""

    def __init__(self, message: str, code: str = "SERVER_UNREACHABLE") -> None:
        super().__init__(message)
        #: SERVER_UNREACHABLE, or the reason why no request could be sent, such as SERVER_URL_INVALID.
        self.code = code


class WaitTimeoutError(Exception):
    """A condition that was not met in time."""

    code = "WAIT_TIMED_OUT"
