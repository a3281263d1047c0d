"""Saying it: words and text."""
