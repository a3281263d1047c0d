"""The page: one case at a time, three answers, everything else out of the way."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Mount, Route

from evenodds.elicit.answers import Answer, Verdict, toss_ups
from evenodds.elicit.desk import Desk
from evenodds.elicit.images import find_image
from evenodds.elicit.protection import Guard
from evenodds.elicit.words import closing_lines
from evenodds.errors import InputError, StorageError

HOME = Path(__file__).parent
STATIC = {
    "page.css": "text/css",
    "noscript.css": "text/css",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
LARGEST_FORM = 4096
NOT_OURS = "This is not an answer the page could have sent."


def make_app(desk: Desk, token: str, port: int) -> Starlette:
    """Return the web application of a sitting."""
    pages = Pages(desk, token)
    routes = [
        Route("/", pages.start),
        Route("/start", pages.begin, methods=["POST"]),
        Route("/sit/{expert}", pages.ask),
        Route("/sit/{expert}/answer", pages.answer, methods=["POST"]),
        Route("/sit/{expert}/undo", pages.undo, methods=["POST"]),
        Route("/sit/{expert}/rest", pages.rest),
        Route("/sit/{expert}/outlook", pages.outlook),
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

    def __init__(self, desk: Desk, token: str) -> None:
        self.desk, self.base = desk, f"/{token}"
        self.templates = Environment(
            loader=FileSystemLoader(HOME / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    async def start(self, request: Request) -> Response:
        """Ask who it is."""
        return self._page("start.html", experts=self.desk.store.experts())

    async def begin(self, request: Request) -> Response:
        """Send an expert to the page of that name."""
        form = await _form(request)
        return self._to(self.desk.expert(form.get("expert", "")))

    async def ask(self, request: Request) -> Response:
        """Show the case that an expert is to judge now, or the end."""
        expert = self._expert(request)
        answered = self.desk.store.answers(expert)
        question = self.desk.question(expert, answered)
        if question is None:
            return self._ending(expert, answered, finished=True)
        line, working = self.desk.running_line(expert)
        return self._page(
            "ask.html",
            expert=expert,
            address=self._address(expert),
            question=question,
            cells=self.desk.showing.cells(self.desk.table, question.case),
            n_questions=max(self.desk.sitting.queue().n_questions, question.number + 1),
            line=line,
            working=working,
        )

    async def answer(self, request: Request) -> Response:
        """Keep an answer, then show the next case."""
        expert, form = self._expert(request), await _form(request)
        number, case = _whole(form.get("number", "")), _whole(form.get("case", ""))
        verdict = form.get("verdict", "")
        if verdict not in set(Verdict) or number is None or case is None:
            raise HTTPException(400, NOT_OURS)
        chance = _chance(form.get("chance", ""))
        kept = self.desk.answer(
            expert, number=number, case=case, verdict=Verdict(verdict), chance=chance
        )
        if not kept:
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
        number = _whole(form.get("number", ""))
        if number is None:
            raise HTTPException(400, NOT_OURS)
        self.desk.store.undo(expert, number)
        return self._to(expert)

    async def rest(self, request: Request) -> Response:
        """Say that everything is saved."""
        expert = self._expert(request)
        return self._ending(expert, self.desk.store.answers(expert), finished=False)

    async def outlook(self, request: Request) -> Response:
        """Return the running line, for a page that waits for it."""
        line, working = self.desk.running_line(self._expert(request))
        return JSONResponse({"line": line, "working": working})

    async def picture(self, request: Request) -> Response:
        """Return the picture in a cell of a case; the address names the cell, never a path."""
        case, column = (_whole(request.path_params[name]) for name in ("case", "column"))
        columns = self.desk.showing.columns
        if case not in self.desk.sitting.cases or column is None or column >= len(columns):
            raise HTTPException(404, "There is no such picture.")
        value = self.desk.table[columns[column]][case].as_py()
        image = find_image(value, self.desk.showing.folders)
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
        found = self.desk.findings()
        return self._page(
            "rest.html",
            expert=expert,
            address=self._address(expert),
            number=len(answered),
            n_own=len(toss_ups(answered)),
            n_toss_ups=len(found.toss_ups),
            lines=closing_lines(self.desk.sitting, found),
            written=[str(path) for path in self.desk.export()],
            test_command=self.desk.test_command,
            finished=finished,
        )

    def _page(self, name: str, *, status: int = 200, **values: Any) -> Response:
        sitting = self.desk.sitting
        page = self.templates.get_template(name).render(
            base=self.base, negative=sitting.negative, positive=sitting.positive, **values
        )
        return HTMLResponse(page, status_code=status)

    def _expert(self, request: Request) -> str:
        return self.desk.expert(request.path_params["expert"])

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


def _chance(text: str) -> float | None:
    """Read the slider, in hundredths; empty where it was not touched."""
    if not text:
        return None
    number = _whole(text)
    if number is None or number > 100:
        raise HTTPException(400, "The slider goes from 0 to 100.")
    return number / 100
