"""The published shape of every result's JSON."""
