"""Worlds with a known answer."""
