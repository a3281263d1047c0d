"""``python -m evenodds`` is the command `evenodds`."""

from evenodds.cli.main import run

run()
