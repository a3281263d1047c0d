"""Pages that lead from files to a verdict, run from top to bottom as a reader would."""
