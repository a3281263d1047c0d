"""What the fit must reach at each size."""

Size = tuple[int, int]

# How many times faster than each library, on normal data.
RATIO_AT_LEAST: dict[Size, dict[str, float]] = {
    (1_000_000, 100): {"scikit-learn": 7, "statsmodels": 18},
    (1_000_000, 20): {"scikit-learn": 7, "statsmodels": 15},
    (5_000, 3): {"scikit-learn": 5, "statsmodels": 3.5},
}
# Extra memory: how many times less than scikit-learn, or how much at most.
MEMORY_RATIO_AT_LEAST: dict[Size, float] = {(1_000_000, 100): 15}
MEBIBYTES_AT_MOST: dict[Size, float] = {(1_000_000, 20): 12}
# Distance from Newton run to the rounding floor.
COEFFICIENT_GAP_AT_MOST = 1e-10
COVARIANCE_GAP_AT_MOST = 1e-7
