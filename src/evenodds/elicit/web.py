"""The page: one case at a time, served on this machine at an address nobody can guess.

The server listens on this machine only, but any web page open in any browser here can send
requests to it, and a foreign name can be made to point at it. So each request must name this
server as its host, carry the token in its path, and, if it was not typed or clicked as an
address, come from our own page. No cookie is set: nothing goes along with a request unasked.
"""

import hmac
import os
import secrets
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

import uvicorn
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenodds.elicit.answers import Answer, read_verdict
from evenodds.elicit.session import NOT_OURS, Session
from evenodds.elicit.show import find_image
from evenodds.errors import InputError, StorageError
from evenodds.validation import check_between

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # the address is a secret; only we may see it
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
READING = frozenset({"GET", "HEAD"})


class Guard:
    """Lets through what comes from our own page, and says 403 to everything else."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        reason = self.why_not(scope["method"], scope["path"], Headers(scope=scope))
        app = self.app if reason is None else PlainTextResponse(f"{reason}\n", status_code=403)
        await app(scope, receive, send_with_headers)

    def why_not(self, method: str, path: str, headers: Headers) -> str | None:
        """Return why a request is refused; None if it is welcome."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self.hosts:
            return "This page answers to its own address only."
        given = path.split("/", 2)[1] if path.startswith("/") else ""
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return "This address has no or another secret: use the one printed at the last start."
        if origin is None and method not in READING:
            return "Answers are taken from the page itself only."
        if origin is not None and origin != f"http://{host}":
            return "Requests of other pages are refused."
        # What browsers say of themselves; typing or following the address is welcome.
        from_elsewhere = headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}
        followed = method in READING and headers.get("sec-fetch-mode") == "navigate"
        if from_elsewhere and not followed:
            return "Requests of other pages are refused."
        return None


HOME = Path(__file__).parent
STATIC = {
    "page.css": "text/css",
    "noscript.css": "text/css",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
LARGEST_FORM = 4096


def make_app(session: Session, token: str, port: int) -> Starlette:
    """Return the web application of a session."""
    pages = Pages(session, token)
    routes = [
        Route("/", pages.start),
        Route("/start", pages.begin, methods=["POST"]),
        Route("/sit/{expert}", pages.ask),
        Route("/sit/{expert}/answer", pages.answer, methods=["POST"]),
        Route("/sit/{expert}/undo", pages.undo, methods=["POST"]),
        Route("/sit/{expert}/rest", pages.rest),
        Route("/sit/{expert}/preview", pages.preview),
        Route("/picture/{case}/{column}", pages.picture),
        Route("/static/{name}", pages.static),
    ]
    return Starlette(
        routes=[Mount("/{token}", routes=routes)],
        middleware=[Middleware(Guard, token=token, port=port)],
        exception_handlers={
            InputError: pages.complain,
            HTTPException: pages.complain,
            StorageError: pages.confess,
        },
    )


class Pages:
    """What each address answers."""

    def __init__(self, session: Session, token: str) -> None:
        self.session, self.base = session, f"/{token}"
        self.templates = Environment(
            loader=FileSystemLoader(HOME / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    async def start(self, request: Request) -> Response:
        """Ask who it is."""
        known = self.session.store.experts()
        return self._page(self.session.start_page, experts=known, **self.session.start())

    async def begin(self, request: Request) -> Response:
        """Send an expert to the page of that name."""
        form = await _form(request)
        expert = self.session.expert(form.get("expert", ""))
        self.session.settle(form.get("kind"))
        return self._to(expert)

    async def ask(self, request: Request) -> Response:
        """Show the case that an expert is to judge now, or the end."""
        expert = self._expert(request)
        answered = self.session.store.answers(expert)
        question = self.session.question(expert, answered)
        if question is None:
            return self._ending(expert, answered, finished=True)
        line, working = self.session.running_line(expert)
        return self._page(
            self.session.question_page,
            expert=expert,
            address=self._address(expert),
            question=question,
            cells=self.session.showing.cells(self.session.table, question.case),
            kind=self.session.plan.kind,
            n_questions=max(self.session.plan.queue().n_questions, question.number + 1),
            line=line,
            working=working,
        )

    async def answer(self, request: Request) -> Response:
        """Keep an answer, then show the next case."""
        expert, form = self._expert(request), await _form(request)
        number, case = _number(form, "number"), _number(form, "case")
        verdict = self.session.said(form)
        chance = _chance(form.get("chance", ""))
        refused = self.session.refusal(verdict, chance)
        if refused is not None:
            raise HTTPException(400, refused)
        if not self.session.answer(
            expert, number=number, case=case, verdict=read_verdict(verdict), chance=chance
        ):
            raise HTTPException(
                409,
                "Your answer was NOT saved: answers were given or taken back since this case was "
                "shown, as in another window. Begin again with your name to go on; there you can "
                "take the last answer back.",
            )
        return self._to(expert)

    async def undo(self, request: Request) -> Response:
        """Take the last answer back, then show its case again."""
        expert, form = self._expert(request), await _form(request)
        self.session.store.undo(expert, _number(form, "number"))
        return self._to(expert)

    async def rest(self, request: Request) -> Response:
        """Say that everything is saved."""
        expert = self._expert(request)
        return self._ending(expert, self.session.store.answers(expert), finished=False)

    async def preview(self, request: Request) -> Response:
        """Return the running line, for a page that waits for it."""
        line, working = self.session.running_line(self._expert(request))
        return JSONResponse({"line": line, "working": working})

    async def picture(self, request: Request) -> Response:
        """Return the picture in a cell of a case; the address names the cell, never a path."""
        case, column = (_whole(request.path_params[name]) for name in ("case", "column"))
        columns = self.session.showing.columns
        if case not in self.session.plan.cases or column is None or column >= len(columns):
            raise HTTPException(404, "There is no such picture.")
        value = self.session.table[columns[column]][case].as_py()
        image = find_image(value, self.session.showing.folder)
        if image is None:
            raise HTTPException(404, "There is no such picture.")
        return FileResponse(image.path, media_type=image.kind)

    async def static(self, request: Request) -> Response:
        """Return a file of the page's own."""
        name = request.path_params["name"]
        if name not in STATIC:
            raise HTTPException(404, "There is no such file.")
        return FileResponse(HOME / "static" / name, media_type=STATIC[name])

    async def complain(self, request: Request, error: Exception) -> Response:
        """Say what is wrong, in the page's own clothes."""
        status = error.status_code if isinstance(error, HTTPException) else 400
        message = error.detail if isinstance(error, HTTPException) else str(error)
        return self._page("sorry.html", status=status, message=message)

    async def confess(self, request: Request, error: Exception) -> Response:
        """Say that answers cannot be reached, and whether one was lost by it."""
        lost = "What you sent was NOT saved. " if request.method == "POST" else ""
        message = (
            f"{lost}{error} Go back and try again; if it stays so, tell whoever prepared this."
        )
        return self._page("sorry.html", status=503, message=message)

    def _ending(self, expert: str, answered: list[Answer], *, finished: bool) -> Response:
        return self._page(
            "rest.html",
            expert=expert,
            address=self._address(expert),
            number=len(answered),
            own=self.session.own_line(answered),
            closing=self.session.closing(),
            written=[str(path) for path in self.session.export()],
            test_command=self.session.test_command,
            finished=finished,
        )

    def _page(self, name: str, *, status: int = 200, **values: Any) -> Response:
        plan = self.session.plan
        page = self.templates.get_template(name).render(
            base=self.base,
            negative=plan.negative,
            positive=plan.positive,
            classes=plan.classes,
            **values,
        )
        return HTMLResponse(page, status_code=status)

    def _expert(self, request: Request) -> str:
        return self.session.expert(request.path_params["expert"])

    def _address(self, expert: str) -> str:
        return f"{self.base}/sit/{quote(expert, safe='')}"

    def _to(self, expert: str) -> Response:
        return RedirectResponse(self._address(expert), status_code=303)


async def _form(request: Request) -> dict[str, str]:
    """Read a small form."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            raise HTTPException(413, "That is more than the page could have sent.")
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=10))
    except ValueError:
        raise HTTPException(400, NOT_OURS) from None


def _whole(text: str) -> int | None:
    """Read a number as the page writes it; None if it is none, or longer than any of ours."""
    return int(text) if text.isdecimal() and len(text) <= 12 else None


def _number(form: dict[str, str], name: str) -> int:
    """Read a number that every form of the page holds."""
    number = _whole(form.get(name, ""))
    if number is None:
        raise HTTPException(400, NOT_OURS)
    return number


def _chance(text: str) -> float | None:
    """Read the slider, in hundredths; empty where it was not touched."""
    if not text:
        return None
    number = _whole(text)
    if number is None or number > 100:
        raise HTTPException(400, "Please give a whole number from 0 to 100.")
    return number / 100


HOST = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """Open a port of this machine; port 0 takes any free one."""
    check_between(port, "--port", 0, 65535)
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise InputError(
            f"port {port} cannot be used: {reason}. Leave --port out to take any free one."
        ) from None


def serve(session: Session, port: int, started: Callable[[str], None]) -> None:
    """Serve a session until interrupted; `started` is told the address once it is open.

    Port 0 takes any free one. SIGTERM ends it as Ctrl-C does.
    """
    with listen(port) as listener:
        taken = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        config = uvicorn.Config(
            make_app(session, token, taken),
            # The log of requests would write the secret address down.
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        # A polite request to end is an interrupt too: files are written after either, also when
        # it comes before the server listens to signals itself.
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            started(f"http://{HOST}:{taken}/{token}/")
            uvicorn.Server(config).run(sockets=[listener])
        signal.signal(signal.SIGTERM, before)
