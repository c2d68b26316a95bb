"""Serve the live page from a thread: beside a run, or alone until Ctrl-C."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType

import uvicorn

from slidewise.errors import InvalidInput
from slidewise.live.server import POLL, create_app
from slidewise.live.watched import Watched

PORT = 8437


class LivePage:
    """The live page of a run log, served until it is closed.

        with LivePage(folder_of(checkpoint)) as page:
            print(page.address)                # http://127.0.0.1:8437
            page.wait()                        # until Ctrl-C

    Without a port it takes 8437, or another one where that is in use. It is on loopback unless told; on another host
    everyone who reaches the machine sees the values.
    """

    def __init__(
        self,
        folder: str | Path,
        host: str = "127.0.0.1",
        port: int | None = None,
        hosts: Collection[str] = (),
        poll: float = POLL,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._socket = _bind(host, port)
        #: where to look
        self.address = _address_of(self._socket)
        self._closing = threading.Event()
        app = create_app(Watched(folder, now), (host, *hosts), poll, self._closing)
        config = uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            http="h11",
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="live page", daemon=True
        )
        self._thread.start()

    def wait(self) -> None:
        """Wait until it is closed; Ctrl-C ends that."""
        while self._thread.is_alive():
            self._thread.join(0.2)

    def close(self) -> None:
        """End it, and the pages that are open."""
        self._closing.set()
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> LivePage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _bind(host: str, port: int | None) -> socket.socket:
    """Take a port now, so that its number is known and no one else's."""
    if port is not None:
        return _try_to_bind(host, port)
    with contextlib.suppress(InvalidInput):
        return _try_to_bind(host, PORT)
    return _try_to_bind(host, 0)


def _try_to_bind(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if _is_ipv6(host) else socket.AF_INET)
    except OSError as error:
        raise InvalidInput(
            f"the live page cannot be served on {host}, port {port}: {error.strerror or error}. Give another port"
        ) from error


def _address_of(taken: socket.socket) -> str:
    host, port = taken.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _is_ipv6(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).version == 6
    return False
