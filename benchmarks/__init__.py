"""Benchmarks of the logistic fit against scikit-learn, statsmodels and glum."""
