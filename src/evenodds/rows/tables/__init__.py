"""Tables: named columns in record batches, read as often as asked; one file a kind of source."""
