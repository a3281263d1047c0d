"""From a file to a verdict by commands alone: scores, a page, answers, a test, a report."""

import json
import re
import signal
import subprocess
import urllib.parse
import urllib.request

import numpy as np
import pandas as pd
import pytest

import evenodds as eo

CASES, REPEATS = 36, 3


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Return a folder with rows whose negatives are flipped far more often, and their truth."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(1500, 2))
    chance = 1 / (1 + np.exp(-(2.5 * X[:, 0] + X[:, 1] - 0.5)))
    given = eo.ClassConditionalNoise(0.03, 0.35).flip((rng.random(1500) < chance).astype(int), rng)
    rows = pd.DataFrame(X, columns=["size", "age"])
    rows["note"] = [f"case {number}" for number in range(1500)]
    rows["scan"] = np.where(given, "ill", "healthy")
    folder = tmp_path_factory.mktemp("whole")
    rows.to_csv(folder / "rows.csv", index=False)
    rows[::-1].to_csv(folder / "reversed.csv", index=False)
    return folder, chance


class Page:
    """The page of `evenodds elicit`, answered over HTTP as its forms would."""

    def __init__(self, script, *arguments):
        self.process = subprocess.Popen(
            [script, "elicit", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.address = re.search(r"http://\S+", self.process.stdout.readline()).group()
        self.origin = "/".join(self.address.split("/")[:3])

    def read(self, path):
        with urllib.request.urlopen(self.address + path) as page:
            return page.read().decode()

    def send(self, path, **form):
        body = urllib.parse.urlencode(form).encode()
        request = urllib.request.Request(self.address + path, body, {"Origin": self.origin})
        urllib.request.urlopen(request).close()

    def answer(self, n, judge, expert="Ada", start=0):
        """Answer n questions by what `judge` says of the row."""
        for number in range(start, start + n):
            case = int(re.search(r'name="case" value="(\d+)"', self.read(f"sit/{expert}")).group(1))
            self.send(f"sit/{expert}/answer", number=number, case=case, **judge(case))

    def end(self):
        self.process.send_signal(signal.SIGINT)
        said, told = self.process.communicate(timeout=30)
        return self.process.returncode, said, told

    def kill(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def page(script):
    """Return a function that opens a page, which is closed at the end."""
    opened = []

    def start(*arguments):
        opened.append(Page(script, *arguments))
        return opened[-1]

    yield start
    for one in opened:
        one.kill()


def test_from_a_file_to_a_verdict(world, command, page, tmp_path):
    folder, chance = world
    rows, scores, answers = folder / "rows.csv", tmp_path / "s.csv", tmp_path / "said.json"
    features = "--features size,age"
    scored = command(f"scores {rows} --label scan {features} --out {scores}")
    assert scored.exit_code == 0
    sizes = ["--cases", CASES, "--repeats", REPEATS, "--show", "size,age"]
    about = [rows, "--label", "scan", "--scores", scores, "--out", answers]
    opened = page(*about, *sizes)
    opened.send("start", expert="Ada", kind="probability")
    opened.answer(
        CASES + REPEATS, lambda case: {"verdict": "stated", "chance": round(100 * chance[case])}
    )
    code, said, told = opened.end()
    assert (code, f"wrote {answers}" in told) == (0, True)
    assert f"Ada: {CASES} of {CASES} cases." in said
    (test,) = re.findall(r"Next: evenodds (line .*)", said)

    found = json.loads(command(test, "--format json").stdout)
    assert (found["reject"], found["answers"], found["n_cases"]) == (True, "probability", CASES)
    interval = found["confidence_interval"]
    assert interval["low"] < 0.32 < interval["high"]
    notes = {one["name"]: one["message"] for one in found["diagnostics"]}
    assert notes["repeats"] == "Judged twice: 3 cases. The two answers differ by 0.00 on average."
    written = command(test, f"--report {tmp_path}/r.html --gate reject")
    assert written.exit_code == 1
    assert "Judged twice" in (tmp_path / "r.html").read_text(encoding="utf-8")

    refused = {
        "--kind looked-up": "--kind is 'looked-up' but",
        "--positive healthy": "was made with --positive ill, not healthy: give the same here.",
        "--weight size": "was made with no --weight, not size: give the same here.",
        "--weight ''": "has no column ''",
        f"--cases {answers}": "holds its own draw. Leave it out.",
        "--expert Adda": "no answers are by 'Adda'; did you mean 'Ada'?",
    }
    for option, message in refused.items():
        spoiled = command(test, option)
        assert (spoiled.exit_code, message in spoiled.stderr) == (2, True), spoiled.stderr
    record = json.loads(answers.read_text())
    answers.write_text(json.dumps(record | {"negative": "x"}))
    assert "holds answers about 'x' and 'ill' but the labels of" in command(test).stderr
    for one in record["repeats"]:
        one["stated"] = (one["stated"] + 0.5) % 1
    answers.write_text(json.dumps(record))
    changed = json.loads(command(test, "--format json").stdout)["diagnostics"][-1]
    assert changed["concern"]
    assert "differ by 0.50 on average. Answers that change so much tell" in changed["message"]
    other = command(test.replace(str(rows), str(folder / "reversed.csv")))
    assert (other.exit_code, "holds answers about other rows" in other.stderr) == (2, True)


def test_scores_made_by_the_page_are_kept_and_a_second_start_goes_on(
    world, command, page, tmp_path
):
    folder, chance = world
    answers = tmp_path / "said.json"
    about = [folder / "rows.csv", "--label", "scan", "--score", "--out", answers]
    opened = page(
        *about, "--looks", "12,24", "--kind", "looked-up", "--show", "note", "--features", "size"
    )
    truth = {True: {"verdict": "positive"}, False: {"verdict": "negative"}}
    opened.answer(10, lambda case: truth[bool(chance[case] > 0.5)])
    opened.kill()
    scores = (tmp_path / "said_scores.parquet").read_bytes()
    opened = page(*about)
    assert "11 of 24" in opened.read("sit/Ada")
    _, said, _ = opened.end()
    assert (tmp_path / "said_scores.parquet").read_bytes() == scores
    other = command("elicit", *about, "--features", "size,age", "--export")
    started = "said.db was started with --features size, not age,size: leave --features out"
    assert (other.exit_code, started in other.stderr) == (2, True)
    assert "Ada: 10 of 24 cases." in said
    assert "Next: evenodds line" not in said
    exported = command("elicit", *about, "--export")
    assert (exported.exit_code, "10 cases judged." in exported.stdout) == (0, True)
    made = tmp_path / "said_scores.parquet"
    test = f"line {folder}/rows.csv --label scan --answers {answers} --scores {made}"
    early = command(test)
    assert (early.exit_code, "no look is due until case 12, and 10" in early.stderr) == (2, True)
    opened = page(*about)
    opened.answer(3, lambda case: truth[bool(chance[case] > 0.5)], start=10)
    _, said, _ = opened.end()
    assert "13 of 24 cases; the last look is at 24." in said
    found = json.loads(command(test, "--format json").stdout)
    assert (found["n_rows"], found["looks"]) == (12, [12, 24])
    assert found["diagnostics"][-1]["message"].endswith("wait for the next, at case 24.")
    grouped = command(test, "--group note")
    assert (grouped.exit_code, "do not go with answers" in grouped.stderr) == (2, True)
    assert len(json.loads(answers.read_text())["answers"]["Ada"]) == 24


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--scores s.csv --out a.csv", "--scores is for cases along a score, whose answers are a"),
        ("--kind looked-up --out a.csv", "--kind is for cases along a score"),
        ("--scores s.csv --raw r.csv --out a.json", "--raw is for toss-ups: leave it out"),
        ("--scores s.csv --features size --out a.json", "--features is for toss-ups"),
        ("--scores s.csv --score --out a.json", "give --scores or --score, not both"),
        ("--out a.json", "is for cases along a score: give --scores COL or FILE, or --score"),
        ("--scores nowhere --out a.json", "has no column 'nowhere'"),
        ("--scores size --out a.json", "scores must lie between 0 and 1"),
        ("--scores s.csv --out a.json --export", "there is no file of scores s.csv"),
    ],
)
def test_a_page_that_cannot_be_is_refused(world, command, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    found = command(f"elicit {world[0]}/rows.csv --label scan {options}")
    assert (found.exit_code, [*tmp_path.iterdir()]) == (2, [])
    assert message in " ".join(found.stderr.split())
