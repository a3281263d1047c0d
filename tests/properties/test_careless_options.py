"""Careless and hostile values of every option of every command: a sentence, never a traceback."""

import inspect
import random
import signal
import sys
from pathlib import Path
from typing import Annotated, get_args, get_origin

import numpy as np
import pandas as pd
import pytest
from typer.models import OptionInfo

from evenodds.cli.main import app, run
from evenodds.cli.study import study
from evenodds.inference.cases.choose import choose_cases
from evenodds.noise import ClassConditionalNoise
from evenodds.simulation.worlds import two_bells

SEED = 20240917
N_ROWS = 300
N_PAIRS = 150
N_TRIED = 250

WHOLE = ("-1", "0", "1.5", "1e400", "nan", "", "\u0663", str(10**18), str(10**30), "9" * 5000)
REAL = ("nan", "inf", "-inf", "-1", "0", "1", "1e400", "1e308", "1e-320", "0,05", "", "9" * 5000)
TEXT = ("", " ", ",", "=1+1", "y", "a", "\u00e9\u2014\U0001f600", "\x1b[31m", "\udcff", "x" * 5000)
PATHS = ("", ".", "-", "/", "no/such/folder/x.csv", "\udcff.csv", "a\nb.csv", "x" * 5000, "b.csv")

# Every command as it runs in an instant; those that take longer are refused for another reason.
LINES = {
    "test": "test rows.csv --label y --features a,b --anchors anchors.csv --method wald",
    "test on flags": "test rows.csv --label y --features a,b --anchor-column flag --flips f.csv",
    "audit": "audit audit.csv --true true --given given",
    "audit by group": "audit audit.csv --true true --given given --group who",
    "audit size": "audit plan --alpha 0.1 --beta 0.3 --prior 0.5 --runs 0",
    "prior": "prior 30 100 0.4",
    "contour": "contour rows.csv --label y --features a,b --anchors stated.csv",
    "multiclass": "multiclass three.csv --label kind --anchors between.csv --features a,b",
    "confusion": "multiclass audit three.csv --true true --given kind",
    "scores": "scores rows.csv --label y --features a,b --out s.csv",
    "cases": "cases rows.csv --label y --scores s.npy --out c.csv --cases 24 --strata 2",
    "line": "line rows.csv --label y --scores s.npy --answers said.csv --kind probability",
    "plan": "plan --variance 0.9 --rows 999 --variance-rows 99 --anchors 9 --alpha 0.1 --beta 0.3",
    "plan of a line": "plan rows.csv --label y --scores s.npy --cases 12 --alpha 0.1 --beta 0.4",
    "plan of a world": "plan --world paper --rows 9 --anchors 0 --alpha 0.1 --beta 0.3",
    "study paper": "study paper --out rows.csv",
    "study atlas": "study atlas --out rows.csv",
    "study losses": "study losses --out rows.csv",
    "elicit": "elicit plain.csv --label y --out found.csv --export",
}


def careless(kind):
    """Return values that somebody might give an option of this kind, by mistake or malice."""
    values = {int: WHOLE, float: REAL, Path: PATHS}
    return next((values[each] for each in get_args(kind) or [kind] if each in values), TEXT)


def options_of(line):
    """Return the options of a command that take a value, each with values to spoil it by."""
    one, two = line.split()[0], " ".join(line.split()[:2])
    group, names = (study, {line.split()[1]}) if one == "study" else (app, {one, two})
    command = max(
        (each for each in group.registered_commands if each.name in names),
        key=lambda each: len(each.name),
    )
    for parameter, one in inspect.signature(command.callback).parameters.items():
        shared = get_origin(one.annotation) is Annotated
        kind, about = get_args(one.annotation) if shared else (one.annotation, one.default)
        if isinstance(about, OptionInfo) and kind is not bool:
            named = about.param_decls or [f"--{parameter.replace('_', '-')}"]
            if group is app or parameter != "out":  # a study that can be written takes long
                yield named[0], careless(kind)


def mutations():
    """Return lines of arguments: each option with each value, and some pairs of them."""
    spoiled = {
        name: [(option, value) for option, values in options_of(line) for value in values]
        for name, line in LINES.items()
    }
    rng = random.Random(SEED)
    drawn = ((name, rng.sample(spoiled[name], 2)) for name in rng.choices([*LINES], k=N_PAIRS))
    alone = ((name, [one]) for name, options in spoiled.items() for one in options)
    for name, several in (*alone, *drawn):
        yield [*LINES[name].split(), *(f"{option}={value}" for option, value in several)]


def write_files(folder):
    """Write small files that every command above runs on."""
    X, y = two_bells().draw_rows(N_ROWS, np.random.default_rng(SEED))
    y = ClassConditionalNoise(0.1, 0.1).flip(y, np.random.default_rng(SEED))
    rows = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.where(y, "yes", "no")})
    rows.to_csv(folder / "plain.csv", index=False)
    rows.assign(flag=np.arange(N_ROWS) < 4).to_csv(folder / "rows.csv", index=False)
    rows[["a", "b"]][:4].to_csv(folder / "anchors.csv", index=False)
    stated = rows[["a", "b"]][:6].assign(posterior=[0.5, 0.5, 0.2, 0.2, 0.8, 0.8])
    stated.to_csv(folder / "stated.csv", index=False)
    kinds = np.array(["cat", "dog", "fox"])[np.arange(N_ROWS) % 3]
    rows.assign(kind=kinds, true=kinds[::-1]).to_csv(folder / "three.csv", index=False)
    pairs = ["cat | dog", "cat | fox", "dog | fox"]
    rows[["a", "b"]][:3].assign(between=pairs).to_csv(folder / "between.csv", index=False)
    audit = {"true": rows["y"], "given": rows["y"].to_list()[::-1], "who": np.arange(N_ROWS) % 9}
    pd.DataFrame(audit).to_csv(folder / "audit.csv", index=False)
    scores = 1 / (1 + np.exp(-X[:, 0]))
    np.save(folder / "s.npy", scores)
    cases = choose_cases(scores, n_cases=24)
    cases.save(folder / "said.json")
    stated = pd.DataFrame({"row": cases.rows + 1, "stated": scores[cases.rows]})
    stated.to_csv(folder / "said.csv", index=False)


def ended(line, monkeypatch):
    """Run the command in this process and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["evenodds", *line])
    with pytest.raises(SystemExit) as stopped:
        run()
    return stopped.value.code


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield tmp_path
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("name", [name for name in LINES if not name.startswith(("study", "elic"))])
def test_the_commands_run_before_they_are_spoiled(folder, monkeypatch, name):
    assert ended(LINES[name].split(), monkeypatch) == (2 if name.endswith("world") else 0)


def test_careless_options_get_a_sentence(folder, monkeypatch, capsys):
    wrong = []
    for line in random.Random(SEED).sample([*mutations()], N_TRIED):
        code = ended(line, monkeypatch)
        said = capsys.readouterr().err
        if code not in {0, 2} or "Traceback" in said or (code == 2 and not said.strip()):
            wrong.append((line, code, said))
    assert wrong == []
