"""Serving the page on this machine, at an address nobody can guess."""

import os
import secrets
import signal
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from evenodds.elicit.app import make_app
from evenodds.elicit.desk import Desk
from evenodds.errors import InputError
from evenodds.validation import check_between

HOST = "127.0.0.1"


def serve(desk: Desk, port: int, started: Callable[[str], None]) -> None:
    """Serve a sitting until interrupted; `started` is told the address once it is open.

    Port 0 takes any free one. SIGTERM ends it as Ctrl-C does.
    """
    check_between(port, "--port", 0, 65535)
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise InputError(
            f"port {port} cannot be used: {reason}. Leave --port out to take any free one."
        ) from None
    with listener:
        taken = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        config = uvicorn.Config(
            make_app(desk, token, taken),
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
