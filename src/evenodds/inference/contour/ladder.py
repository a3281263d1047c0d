"""The ladder of noise models on the contours: clean, uniform, class-conditional, and wider.

A mean over anchors keeps a line a line, so a group may hold posteriors that differ a little:
the mean posterior of the labels is set against the mean of what was stated.

Estimates of a smooth curve hardly move against each other in some directions. What little they
do there is bias, not chance: such directions are left out, by the estimates' own covariance.

With P the stated and e the estimated noisy posteriors of the contours, each rung is a linear
model of what the labels add, ``e - P = X rates``:

    clean              X empty
    uniform            X = 1 - 2P         rates tau
    class-conditional  X = (-P, 1 - P)    rates (alpha, beta): a line

fitted by generalised least squares with covariance ``C_e + c^2 C_P``; an error of a stated
posterior moves e by the slope c of the line, so the weights are iterated. A share of labels
estimated near 0 or 1 looks surer than it is: C_e is that of the rung where this is larger (theory
page, "Contours"). Each rung is tested against everything above it.

Under class-conditional noise the share of positive labels depends on a case through its true
posterior only, so it is the same all along a contour. Within the contours it is therefore
regressed on the features, what the stated posteriors explain taken out: all coefficients are zero
unless noise depends on the features (theory page, "Contours").

A tolerance of its own lets every case stray from its contour, and where it strayed to shows in
its features: errors of all cases may point one way in them. So each direction is granted the
errors of all cases together.

A rung that is not rejected is the answer only if noise above it would have been seen. So each
stated noise d, a gap at every contour beyond what the rung explains, is a hypothesis of its own,
"this much or more". With d and the residuals r of the rung fitted beyond d, both whitened, and
the part of d that the rung's own rates explain taken out,

    z = d'r / |d|,    p = Phi(z),    standard error of the size: size / |d|

(theory page, "Contours"). Where p is small, noise of this size is ruled out.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from scipy.special import chdtrc, fdtrc

from evenodds.anchors import TOSS_UP, Anchors
from evenodds.errors import AnchorError
from evenodds.inference.contour.result import Agreement, Noise, Wider
from evenodds.validation import FloatArray

# Posteriors at most this far from their neighbour share a contour, up to this width.
NEIGHBOURS = 0.02
WIDEST = 0.2
# More different posteriors than this are a model's, not an expert's: all are neighbours then.
MOST_STATED = 12
HAIR = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Contours:
    """Groups of anchors, from the lowest stated posterior to the highest."""

    averaging: FloatArray  # (contours, anchors): rows that sum to one
    stated: FloatArray  # mean stated posterior of each
    covariance: FloatArray  # of the errors of these means
    errors: FloatArray  # covariance of the errors of all anchors
    strayed: FloatArray  # the part of their variances that each anchor has of its own
    counts: tuple[int, ...]
    widest: float  # largest difference between posteriors of one contour

    def __len__(self) -> int:
        return len(self.stated)


def group_anchors(anchors: Anchors) -> Contours:
    """Group anchors by their stated posterior; 0 and 1 are groups of their own, and exact.

    Raises
    ------
    AnchorError
        If all anchors state about the same posterior.
    """
    posterior = anchors.posterior
    members = _members(posterior)
    if len(members) < 2:
        raise AnchorError(
            f"{_who_states(posterior)}: a contour test needs at least two different ones, and "
            "three to tell class-conditional noise from noise that depends on the features. "
            "For toss-ups alone use asymmetry_test."
        )
    averaging = np.array([member / member.sum() for member in members])
    uncertain = np.array((posterior > 0) & (posterior < 1), dtype=np.float64)
    errors = anchors.error_covariance() * np.outer(uncertain, uncertain)
    return Contours(
        averaging=averaging,
        stated=averaging @ posterior,
        covariance=averaging @ errors @ averaging.T,
        errors=errors,
        strayed=anchors.own_variances() * uncertain,
        counts=tuple(int(member.sum()) for member in members),
        widest=max(float(np.ptp(posterior[member])) for member in members),
    )


def _who_states(posterior: FloatArray) -> str:
    """Say what the anchors state, where it is one posterior."""
    several = len(posterior) > 1
    if (posterior == TOSS_UP).all():
        who = f"all {len(posterior)} anchors state" if several else "the only anchor states"
        return (
            f"{who} a posterior of 0.5, as where none is given (posterior= of Anchors, or a column "
            "'posterior' beside the features)"
        )
    if several:
        return f"all {len(posterior)} anchors state a posterior of about {posterior.mean():.2g}"
    return f"there is one anchor, which states a posterior of {posterior[0]:.2g}"


def _members(posterior: FloatArray) -> list[np.ndarray]:
    """Return which anchors belong to each group, the lowest posterior first."""
    inside = np.unique(posterior[(posterior > 0) & (posterior < 1)])
    near = WIDEST if len(inside) > MOST_STATED else NEIGHBOURS
    chains = np.split(inside, np.flatnonzero(np.diff(inside) > near + HAIR) + 1)
    parts = [part for chain in chains if len(chain) for part in _cut(chain)]
    found = [posterior == 0, *(np.isin(posterior, part) for part in parts), posterior == 1]
    return [member for member in found if member.any()]


def _cut(chain: FloatArray) -> list[FloatArray]:
    """Return a chain of posteriors as parts that are not too wide."""
    width = float(np.ptp(chain))
    n_parts = max(int(np.ceil((width - HAIR) / WIDEST)), 1)
    places = np.floor((chain - chain[0]) / max(width, HAIR) * n_parts * (1 - HAIR))
    return np.split(chain, np.flatnonzero(np.diff(places)) + 1)


# Eigenvalues of the estimates' correlations below this share of the largest count as zero.
ZERO = 1e-3


def directions(covariance: FloatArray) -> FloatArray:
    """Return the directions, (kept, estimates), in which estimates of this covariance vary."""
    scale = np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.asarray(vectors[:, values > ZERO * values[-1]].T / scale)


def whitener(kept: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the matrix that takes errors of this covariance to independent ones."""
    root = np.linalg.cholesky(kept @ covariance @ kept.T)
    return np.asarray(solve_triangular(root, kept, lower=True))


def upper_tail(statistic: float, df: int, rank: int = 0, n_groups: int | None = None) -> float:
    """Return the probability of a sum of squares at least this large by chance.

    It is chi-squared where the covariance comes from rows. From groups it is estimated by their
    scatter alone, and the law is Hotelling's: `rank` errors were set against `n_groups` groups.
    """
    known = max(statistic, 0.0)
    if df == 0:
        return float(known <= 0)
    if n_groups is None:
        return float(chdtrc(df, known))
    left = n_groups - rank
    return float(fdtrc(df, left, known * left / (df * (n_groups - 1))))


MOST_ROUNDS = 100
# Shares of labels nearer to 0 or 1 than this are taken as this in their variance.
LEAST_SHARE = 0.002
SETTLED = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Noisy posteriors of the contours, with their covariance.

    `n_groups` is how many groups that was learned from; None if from all rows.
    """

    posterior: FloatArray
    covariance: FloatArray
    n_groups: int | None = None

    def averaged(self, weights: FloatArray) -> "Estimates":
        """Return weighted means, one row of weights each, of estimates at single anchors."""
        covariance = weights @ self.covariance @ weights.T
        return Estimates(weights @ self.posterior, covariance, self.n_groups)


@dataclass(frozen=True, slots=True, eq=False)
class NoiseFit:
    """One noise model fitted to the contours.

    `whitener` takes gaps to coordinates of unit variance; `residuals` and `design`, the columns
    of X, are in them.
    """

    rates: FloatArray
    covariance: FloatArray  # of the rates
    statistic: float
    df: int
    pvalue: float | None  # None where there is nothing left to test
    whitener: FloatArray
    residuals: FloatArray
    design: FloatArray


# Heights of the columns X of each rung at P = 0, and their slopes in P.
RUNGS: dict[Noise, tuple[list[float], list[float]]] = {
    "clean": ([], []),
    "uniform": ([1.0], [-2.0]),
    "class-conditional": ([0.0, 1.0], [-1.0, -1.0]),
}


def fit_noise(
    noise: Noise, contours: Contours, estimates: Estimates, beyond: FloatArray | float = 0.0
) -> NoiseFit:
    """Fit a rung by generalised least squares, the weights iterated with the slope.

    `beyond` is what more there is than the rung: a gap at each contour.
    """
    columns, start = _columns(noise, contours), contours.stated + beyond
    slopes = np.array(RUNGS[noise][1])
    gaps = estimates.posterior - start
    kept = directions(estimates.covariance)
    slope, rates = 1.0, np.zeros(len(slopes))
    for _ in range(MOST_ROUNDS):
        under = _covariance_under(start + columns @ rates, estimates)
        white = whitener(kept, under + slope**2 * contours.covariance)
        design = white @ columns
        rates = np.linalg.pinv(design) @ (white @ gaps)
        before, slope = slope, 1 + float(slopes @ rates)
        if abs(slope - before) < SETTLED:
            break
    residuals = white @ (gaps - columns @ rates)
    covariance: FloatArray = np.linalg.pinv(design.T @ design).astype(np.float64)
    rank = int(np.linalg.matrix_rank(design)) if len(slopes) else 0
    statistic, df = float(residuals @ residuals), len(white) - rank
    return NoiseFit(
        rates=rates,
        covariance=covariance,
        statistic=statistic,
        df=df,
        pvalue=upper_tail(statistic, df, len(white), estimates.n_groups) if df else None,
        whitener=white,
        residuals=residuals,
        design=design,
    )


def _columns(noise: Noise, contours: Contours) -> FloatArray:
    """Return the columns X of a rung."""
    heights, slopes = RUNGS[noise]
    return np.asarray(np.array(heights) + np.outer(contours.stated, slopes))


def _covariance_under(heights: FloatArray, estimates: Estimates) -> FloatArray:
    """Return the covariance of the estimates, widened where labels vary more at these heights."""
    shares = np.clip([heights, estimates.posterior], LEAST_SHARE, 1 - LEAST_SHARE)
    spreads = shares * (1 - shares)  # of one label
    widened = np.sqrt(np.maximum(spreads[0] / spreads[1], 1.0))
    return np.asarray(estimates.covariance * np.outer(widened, widened))


def one_sided_clean(contours: Contours, estimates: Estimates) -> tuple[float, float]:
    """Return statistic and p-value of "clean" against whatever noise can do.

    Flip rates cannot be negative: the part of the gap that a line with a negative rate would
    explain speaks for no noise and is left out. What remains is chi-squared with two, one or no
    degrees of freedom less than there are contours, mixed by the angle between the directions
    of the two rates.
    """
    clean = fit_noise("clean", contours, estimates)
    gaps = clean.residuals
    design = clean.whitener @ _columns("class-conditional", contours)
    rank = int(np.linalg.matrix_rank(design))
    off_line = gaps - design @ (np.linalg.pinv(design) @ gaps)
    _, unexplained = nnls(design, gaps)
    beyond = float(off_line @ off_line)
    statistic = max(beyond + float(gaps @ gaps) - unexplained**2, 0.0)
    lengths = np.linalg.norm(design, axis=0)
    cosine = float(design[:, 0] @ design[:, 1] / (lengths[0] * lengths[1]))
    angle = float(np.arccos(np.clip(cosine, -1.0, 1.0)))
    shares = ((np.pi - angle) / (2 * np.pi), 0.5, angle / (2 * np.pi))
    tails = [
        upper_tail(statistic, len(gaps) - rank + number, len(gaps), estimates.n_groups)
        for number in range(3)
    ]
    return statistic, sum(share * tail for share, tail in zip(shares, tails, strict=True))


# Directions in which anchors of one contour differ by less than this share count as none.
NO_DIFFERENCE = 1e-6
ROUNDING = 1e-12


def agreement(
    contours: Contours,
    points: FloatArray,
    stated: FloatArray,
    estimates: Estimates,
) -> Agreement | None:
    """Test whether anchors of one contour have one noisy posterior; None if they cannot differ.

    `estimates` are those at the anchors. Errors of the stated posteriors count in full, as under
    clean labels: no noise lets more through.
    """
    contrasts = within_contours(contours, points, stated)
    if len(contrasts) == 0:
        return None
    known = contrasts @ estimates.covariance @ contrasts.T
    white = whitener(directions(known), known + _errors(contours, contrasts))
    whitened = white @ (contrasts @ estimates.posterior)
    statistic, df = float(whitened @ whitened), len(whitened)
    if estimates.n_groups is not None and estimates.n_groups <= df:
        return None
    pvalue = upper_tail(statistic, df, df, estimates.n_groups)
    return Agreement(statistic=statistic, df=df, pvalue=pvalue)


def _errors(contours: Contours, contrasts: FloatArray) -> FloatArray:
    """Return the covariance of the errors of what is stated, along the contrasts."""
    common = contours.errors - np.diag(contours.strayed)
    # What each case strayed from the mean of its contour, summed: all of it may lie in one
    # direction, and the contrasts have unit length.
    shares = (contours.averaging**2).sum(axis=1)[np.argmax(contours.averaging, axis=0)]
    together = float(contours.strayed @ (1 - shares))
    return np.asarray(contrasts @ common @ contrasts.T + together * np.eye(len(contrasts)))


def within_contours(contours: Contours, points: FloatArray, stated: FloatArray) -> FloatArray:
    """Return contrasts, (directions, anchors): features centred in their contour.

    They are orthogonal to constants and to the stated posteriors within each contour, so any
    line in the posterior is invisible to them.
    """
    centred = _centred(contours, points)
    spreads = np.sqrt((centred**2).mean(axis=0))
    centred = centred / np.where(spreads > 0, spreads, 1.0)
    moved = _centred(contours, stated[:, None])[:, 0]
    length = float(moved @ moved)
    if length > 0:
        centred = centred - np.outer(moved, moved @ centred) / length
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(left[:, sizes > NO_DIFFERENCE * np.sqrt(len(points))].T)


def _centred(contours: Contours, values: FloatArray) -> FloatArray:
    """Return values less their mean in the contour."""
    member = np.argmax(contours.averaging, axis=0)
    centred = values - (contours.averaging @ values)[member]
    # What rounding leaves of equal values is no difference.
    seen = np.abs(centred) > ROUNDING * np.abs(values).max(axis=0)
    return np.where(seen, centred, 0.0)


# What must not go unseen: equal flips where labels are called clean, and a difference between
# flip rates, of the two classes or of toss-ups and sure cases.
EQUAL_FLIPS = 0.1
DIFFERENCE = 0.2
# A noise with less than this share of its squared length beyond the rung looks like the rung.
NOTHING_WIDER = 1e-6


def wider_noise(contours: Contours, stated: FloatArray, estimates: Estimates) -> tuple[Wider, ...]:
    """Set every rung against the stated noises above it; `stated` are the anchors' posteriors."""
    mean = contours.stated
    half = np.full(len(contours), 0.5)
    hard, sure = gaps_by_difficulty(contours, stated)
    above_all = ("hard cases", DIFFERENCE, [hard]), ("sure cases", DIFFERENCE, [sure])
    above: dict[Noise, list[tuple[str, float, list[FloatArray]]]] = {
        "clean": [
            ("uniform", EQUAL_FLIPS, [1 - 2 * mean]),
            ("asymmetry", DIFFERENCE, [1 - mean, -mean]),  # flips of one class alone
        ],
        "uniform": [("asymmetry", DIFFERENCE, [half, -half])],
        "class-conditional": [],
    }
    return tuple(
        _widest(rung, noise, size, [_tried(rung, contours, estimates, size * d) for d in each])
        for rung, own in above.items()
        for noise, size, each in (*own, *above_all)
    )


def gaps_by_difficulty(contours: Contours, stated: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the gaps of flips at toss-ups alone, 4p(1 - p), and of the rest, (1 - 2p)^2.

    Flips f(p) of both classes make a gap of f(p)(1 - 2p). Both gaps are cubics, so that errors of
    what is stated, of variance v, move their mean by half the second derivative times v.
    """
    variances = contours.errors.diagonal()
    centred = 1 - 2 * stated
    sure = centred**3 + 12 * centred * variances
    averaged: FloatArray = contours.averaging @ sure
    return contours.averaging @ centred - averaged, averaged


def _tried(
    rung: Noise, contours: Contours, estimates: Estimates, beyond: FloatArray
) -> tuple[float, float] | None:
    """Return p-value and length of a noise beyond a rung; None where it looks like the rung."""
    found = fit_noise(rung, contours, estimates, beyond)
    noise = found.whitener @ beyond
    apart = noise - found.design @ (np.linalg.pinv(found.design) @ noise)
    length = float(np.linalg.norm(apart))
    if length**2 <= NOTHING_WIDER * float(noise @ noise):
        return None
    z = float(apart @ found.residuals) / length
    tail = upper_tail(z**2, 1, len(noise), estimates.n_groups) / 2
    return (tail if z < 0 else 1 - tail), length


def _widest(rung: Noise, noise: str, size: float, tried: list[tuple[float, float] | None]) -> Wider:
    """Return what was found of a noise; of its two directions, that which is ruled out less."""
    known = [each for each in tried if each is not None]
    whole = len(known) == len(tried)
    return Wider(
        rung=rung,
        noise=noise,
        size=size,
        standard_error=size / min(length for _, length in known) if whole else None,
        pvalue=max(pvalue for pvalue, _ in known) if whole else None,
    )
