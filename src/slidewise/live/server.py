"""The server of the live page: a Starlette app that reads a run log, and writes nothing but the pinned keys.

A page of another site can reach a server on loopback through the browser, so that every request must name this server
(`Host`: against DNS rebinding), and one that writes must come from its own page (`Origin`).
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
import threading
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slidewise.live.prometheus import CONTENT_TYPE, describe_metrics
from slidewise.live.watched import TooManyPins, Watched
from slidewise.pipeline.run_log import LONGEST_TEXT, MOST_PINS

ASSETS = Path(__file__).parent / "assets"
#: seconds between two looks at the log, and between two signs of life to a page that has nothing new
POLL, SIGN_OF_LIFE = 0.5, 15.0
#: bytes of a request, and values of a key
_LONGEST_BODY, _MOST_VALUES = 20_000, 30
_HEADERS = {
    "content-security-policy": "; ".join(
        (
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
            "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}  # fmt: skip


def create_app(
    watched: Watched, hosts: Collection[str] = (), poll: float = POLL, closing: threading.Event | None = None
) -> Starlette:
    """Build the app for a watched run. `hosts` are further names of this machine under which it may be asked for."""
    closed = closing or threading.Event()

    async def show_page(_: Request) -> Response:
        return FileResponse(ASSETS / "index.html")

    async def show_state(_: Request) -> Response:
        await run_in_threadpool(watched.refresh)
        return JSONResponse({**watched.snapshot(), "verdict": watched.tell_verdict()})

    async def show_metrics(_: Request) -> Response:
        await run_in_threadpool(watched.refresh)
        return PlainTextResponse(describe_metrics(watched), media_type=CONTENT_TYPE)

    async def send_events(_: Request) -> Response:
        return StreamingResponse(_events(watched, poll, closed), media_type="text/event-stream")

    async def set_pin(request: Request) -> Response:
        try:
            key, pinned = _read_pin(await _body_of(request))
        except ValueError as error:
            return _refuse(400, str(error))
        try:
            return JSONResponse({"pins": await run_in_threadpool(watched.pin, key, pinned)})
        except TooManyPins:
            return _refuse(409, f"{MOST_PINS} keys are pinned, and no more can be: let one go first")
        except OSError as error:
            return _refuse(503, f"the log's folder cannot be written: {error.strerror}")

    return Starlette(
        routes=[
            Route("/", show_page),
            Route("/state", show_state),
            Route("/metrics", show_metrics),
            Route("/events", send_events),
            Route("/pins", set_pin, methods=["POST"]),
            Mount("/assets", StaticFiles(directory=ASSETS)),
        ],
        middleware=[Middleware(Guard, hosts=frozenset(hosts))],
    )


class Guard:
    """Refuse requests for another host, and those that write and come from another page; add the headers."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self.app = app
        self.hosts = {"localhost", socket.gethostname().lower(), *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        reason = self._find_fault(scope["method"], Headers(scope=scope))
        app = self.app if reason is None else _refuse(403, reason)
        await app(scope, receive, send_with_headers)

    def _find_fault(self, method: str, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if not self._is_known(_without_port(host)):
            return f"this page is not served as {host[:100]!r}"
        if method not in ("GET", "HEAD") and headers.get("origin") not in (f"http://{host}", f"https://{host}"):
            return "only the page itself may change what is pinned"
        return None

    def _is_known(self, host: str) -> bool:
        # A number cannot be rebound: only names are looked up.
        return host.lower() in self.hosts or _is_address(host)


async def _events(watched: Watched, poll: float, closed: threading.Event) -> AsyncIterator[str]:
    """Send the state, then what changes, and the verdict whenever it does."""
    version, said, quiet = -1, None, 0.0
    while not closed.is_set():
        await run_in_threadpool(watched.refresh)
        messages = []
        news = watched.news_since(version) if version >= 0 else None
        if news is None:
            state = watched.snapshot()
            version = state["version"]
            messages.append(_message("state", state))
        for told in news or ():
            version = told["version"]
            messages.append(_message("news", told))
        verdict = watched.tell_verdict()
        if verdict != said:
            said = verdict
            messages.append(_message("verdict", verdict))
        quiet = 0.0 if messages else quiet + poll
        if quiet >= SIGN_OF_LIFE:
            quiet = 0.0
            messages.append(": still here\n\n")
        for message in messages:
            yield message
        await asyncio.sleep(poll)


def _message(event: str, data: Any) -> str:
    return f"event: {event}\ndata: {json.dumps(data)}\n\n"


async def _body_of(request: Request) -> Any:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise ValueError("a pin is JSON, sent as application/json")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LONGEST_BODY:
            raise ValueError(f"a pin takes {_LONGEST_BODY:,} bytes at most")
    try:
        return json.loads(body)
    except ValueError:
        raise ValueError("a pin is JSON, and this is not") from None


def _read_pin(body: Any) -> tuple[list[Any], bool]:
    """Check what a page has sent: a key, and whether it is pinned."""
    if not isinstance(body, dict) or set(body) != {"key", "pinned"} or not isinstance(body["pinned"], bool):
        raise ValueError('a pin is {"key": [...], "pinned": true or false}')
    key = body["key"]
    if not isinstance(key, list) or not 1 <= len(key) <= _MOST_VALUES:
        raise ValueError("a key is a list of values")
    for value in key:
        if not (value is None or isinstance(value, str | int | float)):
            raise ValueError("the values of a key are texts and numbers")
        if isinstance(value, str) and len(value) > LONGEST_TEXT + 1:
            raise ValueError(f"a value of a key has {LONGEST_TEXT} characters at most")
    return key, body["pinned"]


def _refuse(status: int, reason: str) -> Response:
    return JSONResponse({"error": reason}, status_code=status)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
