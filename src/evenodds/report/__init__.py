"""Saying it: words, text, figures and pages."""
