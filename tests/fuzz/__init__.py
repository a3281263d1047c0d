"""Damaged and hostile files: every reader answers with a result or with one sentence."""
