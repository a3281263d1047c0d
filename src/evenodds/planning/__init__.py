"""Before the data: power and size."""
