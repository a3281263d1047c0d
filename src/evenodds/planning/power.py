"""Before the data: how likely is a test to find what is there?"""

from evenodds.inference.asymmetry import Method
from evenodds.noise import ClassConditionalNoise, check_noise
from evenodds.planning.correction import RUNS, Point, settled
from evenodds.planning.question import (
    Design,
    Question,
    check_anchor_number,
    check_direction,
    check_rows,
    read_question,
)


def power(
    design: Design,
    noise: ClassConditionalNoise,
    *,
    n_rows: int | None = None,
    n_anchors: int,
    method: str | Method | None = None,
    alternative: str = "two-sided",
    tolerance: float = 0.05,
    shared_tolerance: float | None = None,
    significance: float = 0.05,
    seed: int = 0,
    runs: int = RUNS,
) -> float:
    r"""Return the probability that a test rejects uniform noise.

    Parameters
    ----------
    design : str, World or AnchorVariance
        Data like those you will have: the name of a world, `data_world(X, y)` of a pilot
        sample, `data_world(X, coefficients=...)`, or the paper's summary numbers (method
        "wald" only).
    noise : ClassConditionalNoise
        The flip rates to find.
    n_rows : int
        Number of rows; may be left out with summary numbers, which are for some rows already.
    n_anchors : int
        Number of toss-up cases; 0 for method "joint" only.
    method : {"boundary", "joint", "wald"} or a record of settings
        Default "boundary", or "wald" with summary numbers.
    alternative : {"two-sided", "greater", "less"}
        "greater" means that negatives are flipped more often (beta > alpha).
    tolerance, shared_tolerance : float
        How well the toss-ups will be known, each and all together. A shared tolerance of
        None is as wide as the tolerance, as for `Anchors`.
    significance : float, default 0.05
        Level of the test.
    seed : int, default 0
        For the cases and toss-ups drawn to stand for the world, and for the simulation.
    runs : int, default 200
        Data sets simulated to correct the formula where rows are few beside columns and noise;
        0 leaves it as it is. Where rows are many none is simulated.

    Returns
    -------
    float

    See Also
    --------
    rejection_rate : The same by simulation, the check on this formula.
    sample_size, anchors_needed, detectable_asymmetry : One of the other quantities, from power.

    Notes
    -----
    The statistic is computed on exemplary data, every row with both labels weighted by their
    probabilities under the noise; it is where :math:`z` of real data is centred, and the test
    rejects when a normal variable so centred is beyond its critical value. The probability is
    averaged over sets of anchors drawn from the world. With few rows per parameter the fitted
    curve follows chance and z is centred nearer 0; then data sets are simulated, and z is scaled
    so that the formula rejects as often as they do (docs/planning.md says where, and how close
    the power reached is to the power promised). Where a test rejects uniform noise too, as "wald"
    does on lopsided data, this is no power. Always check a plan that matters with
    `rejection_rate`.

    Examples
    --------
    >>> import evenodds as eo
    >>> noise = eo.ClassConditionalNoise(alpha=0.05, beta=0.15)
    >>> few = eo.power("rare", noise, n_rows=1000, n_anchors=4, runs=0)
    >>> many = eo.power("rare", noise, n_rows=8000, n_anchors=4)
    >>> round(few, 1), round(many, 1)
    (0.3, 0.7)
    """
    question = read_question(
        design,
        method=method,
        alternative=alternative,
        tolerance=tolerance,
        shared_tolerance=shared_tolerance,
        significance=significance,
        seed=seed,
    )
    check_direction(question, check_noise(noise))
    _, corrected = plan_power(question, noise, n_rows=n_rows, n_anchors=n_anchors, runs=runs)
    return corrected.power(noise, n_rows, n_anchors)


def plan_power(
    question: Question,
    noise: ClassConditionalNoise,
    *,
    n_rows: int | None,
    n_anchors: int,
    runs: int,
    workers: int = 1,
) -> tuple[Point, Question]:
    """Return a plan whose power is asked for, with the question as it was corrected."""
    plan = Point(
        check_noise(noise),
        check_rows(n_rows, question),
        check_anchor_number(n_anchors, question),
    )
    return settled(question, lambda _: plan, runs=runs, workers=workers)
