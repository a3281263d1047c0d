"""The question: tests that share one function z(Delta_0)."""
