"""Rows drawn within strata of a score: the draw, the answers, and what is fitted to them."""
