"""Who may talk to the page: holders of its secret address, from the page itself.

The server listens on this machine only, but any web page open in any browser here can send
requests to it, and a foreign name can be made to point at it. So each request must name this
server as its host, carry the token in its path, and, if it was not typed or clicked as an
address, come from our own page. No cookie is set: nothing goes along with a request unasked.
"""

import hmac

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
