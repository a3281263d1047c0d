"""Tests from rows whose true label was looked up."""
