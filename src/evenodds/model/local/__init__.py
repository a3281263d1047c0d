"""Local-linear logistic fits: the posterior at a point from the rows around it alone."""
