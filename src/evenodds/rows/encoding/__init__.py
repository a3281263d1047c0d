"""Encodings: which columns are read, and how a record batch becomes features."""
