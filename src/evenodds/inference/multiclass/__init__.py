"""Tests for labels of three or more classes."""
