"""``python -m evenodds`` is the command `evenodds`."""

import sys


def run() -> None:
    """Run the command line; what is loaded before it may be interrupted too."""
    try:
        from evenodds.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("evenodds: interrupted.", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    run()
