"""Asking the expert: which cases, in what order, and what the answers are worth."""
