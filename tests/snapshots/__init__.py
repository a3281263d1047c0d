"""What every kind of result says, pinned word for word; ``python -m tests.snapshots`` renews it."""
