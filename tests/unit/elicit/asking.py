"""Asking the page directly, without a server between."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import httpx

from evenodds.elicit.web import make_app

TOKEN, PORT = "secret-token", 8123
HERE = f"http://127.0.0.1:{PORT}"


class Client:
    """Asks the application without a server between."""

    def __init__(self, session, **headers):
        self.session, self.app, self.headers = session, make_app(session, TOKEN, PORT), headers

    def ask(self, method, path, *, headers=None, data=None):
        async def reply():
            way = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=way, base_url=HERE) as client:
                known = {**self.headers, **(headers or {})}
                return await client.request(method, path, headers=known, data=data)

        # In a thread of its own: a browser test of the same process may have left a loop running.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, reply()).result()


def answer(send, number, verdict="toss-up", expert="Ada", **more):
    """Answer a question as its page would."""
    given = send.session.store.answers(unquote(expert))
    again = number in range(len(given))
    case = given[number].case if again else send.session.question(unquote(expert), given).case
    form = {"number": number, "case": case, "verdict": verdict, **more}
    return send(f"sit/{expert}/answer", **form)
