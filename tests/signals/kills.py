"""The page of experts, killed while it is answered: python -m tests.signals.kills [times]

Every life of the server ends by SIGKILL at a random moment while answers are sent. What it had
acknowledged must be in the file then, and at the end of all lives.
"""

import http.client
import random
import re
import sqlite3
import sys
import tempfile
import threading
import urllib.parse
from contextlib import suppress
from pathlib import Path

from tests.browser.sessions import Server, write_patients

SEED = 20240917
LONGEST_LIFE = 1.0  # seconds of answering
VERDICTS = ("negative", "toss-up", "positive", "skip")


def live(server, expert, rng):
    """Answer until the server is killed; return the answers that it acknowledged, in order."""
    address = urllib.parse.urlsplit(server.start())
    place = f"{address.path}sit/{urllib.parse.quote(expert)}"
    connection = http.client.HTTPConnection(address.netloc, timeout=30)

    def ask(method, path, **form):
        headers = {"Origin": f"http://{address.netloc}"} if form else {}
        connection.request(method, path, urllib.parse.urlencode(form), headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()

    acknowledged = []
    killing = threading.Timer(rng.uniform(0, LONGEST_LIFE), server.process.kill)
    _, page = ask("GET", place)
    killing.start()
    with suppress(http.client.HTTPException, OSError):
        while (case := re.search(r'name="case" value="(\d+)"', page)) is not None:
            number, verdict = len(acknowledged), rng.choice(VERDICTS)
            form = {"number": number, "case": case.group(1), "verdict": verdict}
            if ask("POST", f"{place}/answer", **form)[0] == http.HTTPStatus.SEE_OTHER:
                acknowledged.append((int(case.group(1)), verdict))
            _, page = ask("GET", place)
    connection.close()
    killing.join()
    server.kill()
    return acknowledged


def standing(server, expert):
    """Return an expert's answers on disk, in order."""
    return [(case, verdict) for name, case, verdict in server.answers() if name == expert]


def kill_many(folder, times, tell=lambda line: None):
    """Kill a server many times; return how many answers were acknowledged, and how many lost."""
    rng = random.Random(SEED)
    write_patients(folder)
    server = Server(folder, cases=200, repeats=0)
    told = {}
    for life in range(times):
        expert = f"Expert {life}"
        told[expert] = live(server, expert, rng)
        tell(f"kill {life + 1}: {len(told[expert])} acknowledged")
    lost = 0
    for expert, acknowledged in told.items():
        kept = standing(server, expert)
        # One more may be on disk whose acknowledgement died with the server.
        assert len(kept) - len(acknowledged) <= 1
        lost += sum(answer not in kept for answer in acknowledged)
    with sqlite3.connect(folder / "anchors_answers.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    return sum(map(len, told.values())), lost


if __name__ == "__main__":
    n_times = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with tempfile.TemporaryDirectory() as place:
        n_acknowledged, n_lost = kill_many(
            Path(place), n_times, lambda line: print(line, flush=True)
        )
    print(f"{n_times} kills: {n_acknowledged} answers acknowledged, {n_lost} of them lost")
