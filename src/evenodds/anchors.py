"""What the expert knows: points whose true posterior is stated, and how surely."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import AnchorError
from evenodds.rows.anchor_points import (
    STATED,
    anchor_table,
    columns_beside,
    features_of,
    read_anchors,
    read_points,
    refuse_holes,
    refuse_other_columns,
    refuse_text,
    refuse_the_data,
    unread,
)
from evenodds.rows.base import Rows, read_row_numbers
from evenodds.rows.memory import as_arrow, read_features, shape_of, text_table
from evenodds.rows.read import is_path
from evenodds.rows.table_rows import marked_anchors
from evenodds.rows.tables import as_numpy
from evenodds.validation import (
    FloatArray,
    as_array,
    check_between,
    check_vector,
    counted,
    default_shared_tolerance,
    join_quoted,
)

if TYPE_CHECKING:
    import pyarrow as pa


TOSS_UP = 0.5
TOLERANCE = 0.05
# More different posteriors than this are a model's, row by row, and not what experts say.
MOST_BY_EXPERTS = 12


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Anchors:
    """Cases whose true posterior an expert states, usually "a toss-up".

    Parameters
    ----------
    points : array, data frame or path
        The same columns as the data, one row an anchor, without an intercept column.
        Columns of a data frame or a file are matched to the data by name, and encoded as the
        data is: text, formulas. Columns ``posterior``, ``tolerance`` and ``shared_tolerance`` of a
        file are what the expert states, unless given here. The label must not be among them.
    posterior : float or array, default 0.5
        Stated probability that the case is positive.
    tolerance : float or array, default 0.05
        Half-width of the expert's error on the posterior, independent from anchor
        to anchor: 0.05 means "0.45 to 0.55". 0 is a strict anchor.
    shared_tolerance : float, optional
        Half-width of the error common to all anchors, as of an expert who leans one way
        every time; more anchors do not average it out. Default: as wide as the tolerance
        (the median of anchors stated strictly between 0 and 1), less where tolerance and
        shared tolerance together would leave (0, 1), and 0 for strict anchors. 0 claims
        that the expert never leans. A column that repeats the one number will do, as files
        have it.
    source_covariance : array of shape (n_anchors, n_anchors), optional
        Covariance of the stated posteriors when they come from a model fitted to
        other data. It is added to both tolerances: where it is the whole error, say
        ``tolerance=0``.

    Attributes
    ----------
    shared_is_default : bool
        Whether the shared tolerance was worked out from the tolerance, not stated.

    Examples
    --------
    >>> anchors = Anchors([[0.0, 1.0], [2.0, -1.0]], tolerance=0.1)
    >>> anchors
    <Anchors: 2 toss-ups of 2 features, tolerance ±0.1, shared ±0.1 (by default)>
    """

    points: FloatArray
    posterior: FloatArray
    tolerance: FloatArray
    shared_tolerance: float
    shared_is_default: bool
    source_covariance: FloatArray | None
    feature_names: tuple[str, ...] | None
    as_given: "pa.Table | None"
    ignored: tuple[str, ...]  # columns of the data that came with the points and make no feature

    def __init__(
        self,
        points: Any,
        *,
        posterior: ArrayLike | None = None,
        tolerance: ArrayLike | None = None,
        shared_tolerance: ArrayLike | None = None,
        source_covariance: ArrayLike | None = None,
    ) -> None:
        if is_path(points):
            points, stated_there = read_anchors(points)
            posterior = stated_there.get("posterior") if posterior is None else posterior
            tolerance = stated_there.get("tolerance") if tolerance is None else tolerance
            if shared_tolerance is None:
                shared_tolerance = stated_there.get("shared_tolerance")
        posterior = TOSS_UP if posterior is None else posterior
        tolerance = TOLERANCE if tolerance is None else tolerance
        given = text_table(points, "anchors")
        matrix, names = read_points(points) if given is None else unread(given)
        n_anchors = len(matrix)
        stated = check_vector(posterior, "posterior", n_anchors, "anchor")
        widths = check_vector(tolerance, "tolerance", n_anchors, "anchor")
        _check_posterior(stated)
        by_default = shared_tolerance is None
        shared = (
            default_shared_tolerance(stated, widths)
            if by_default
            else _read_shared(shared_tolerance, n_anchors)
        )
        _check_tolerance(stated, widths, shared)
        covariance = _read_source_covariance(source_covariance, n_anchors)
        for name, value in (
            ("points", _read_only(matrix)),
            ("posterior", _read_only(stated)),
            ("tolerance", _read_only(widths)),
            ("shared_tolerance", shared),
            ("shared_is_default", by_default),
            ("source_covariance", None if covariance is None else _read_only(covariance)),
            ("feature_names", names),
            ("as_given", given),
            ("ignored", ()),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def from_rows(cls, X: Any, rows: ArrayLike, **settings: Any) -> Self:
        """Take anchors from the data itself, by row numbers or a mask.

        Parameters
        ----------
        X : array or data frame
            The data.
        rows : array-like of int or bool
            Which rows are anchors. They stay in X: leave them out of the fit if an
            expert, not the label, decided what they are.
        **settings
            ``posterior``, ``tolerance`` and so on, as for `Anchors`.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.arange(10.0).reshape(5, 2)
        >>> Anchors.from_rows(X, [0, 4]).points
        array([[0., 1.],
               [8., 9.]])
        """
        given = text_table(X, "X")
        if given is not None:
            return cls(given.take(read_row_numbers(rows, len(given))), **settings)
        features = read_features(X, "X")
        n_rows, _ = shape_of(features)
        chosen = read_row_numbers(rows, n_rows)
        if isinstance(features, dict):
            return cls({name: column[chosen] for name, column in features.items()}, **settings)
        return cls(features[chosen], **settings)

    @classmethod
    def in_table(
        cls, table: "pa.Table", rows: Rows, called: Any, *, any_others: bool, **settings: Any
    ) -> "Anchors":
        """Take anchors for these rows from a table; what it states wins over the settings."""
        names = table.column_names
        needed, ignored = columns_beside(names, rows, called, names if any_others else STATED)
        stated = [name for name in STATED if name in names and name not in (needed or ())]
        points = table.select(list(needed or ()))
        refuse_holes(table, [*points.column_names, *stated], called)
        if rows.encoding is None:
            refuse_text(points, called)
        told = {name: as_numpy(table[name]) for name in stated}
        return cls(points, **{**settings, **told})._but(ignored=ignored)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        low, high = float(self.posterior.min()), float(self.posterior.max())
        stated = f"stated at {low:g}" if low == high else f"stated from {low:g} to {high:g}"
        one = "toss-up" if low == high == TOSS_UP else "anchor"
        names = self.feature_names
        n_features = self.points.shape[1] if names is None else len(names)
        parts = [
            f"{counted(len(self), one)} of {counted(n_features, 'feature')}",
            *([] if one == "toss-up" else [stated]),
            tolerance_words(self.tolerance_range(), self.shared_tolerance, self.shared_is_default),
        ]
        return f"<Anchors: {', '.join(parts)}>"

    @property
    def strict(self) -> bool:
        """Whether the stated posteriors are taken as exact."""
        return (
            not (self.tolerance**2).any()  # of the smallest numbers the square is 0
            and self.shared_tolerance**2 == 0
            and self.source_covariance is None
        )

    def tolerance_range(self) -> tuple[float, float]:
        """Return the smallest and the largest tolerance."""
        return float(self.tolerance.min()), float(self.tolerance.max())

    @property
    def declared_error(self) -> float:
        """How far a stated posterior may be off, as declared: the larger of both tolerances."""
        return float(max(np.median(self.tolerance), self.shared_tolerance))

    def own_variances(self) -> FloatArray:
        """Return the variance of the error that each stated posterior has of its own."""
        variances: FloatArray = self.tolerance**2 / 3
        return variances

    def error_covariance(self) -> FloatArray:
        """Return the covariance of the errors on the stated posteriors.

        A uniform error of half-width d has variance ``d^2 / 3``.
        """
        own = np.diag(self.own_variances())
        shared = np.full_like(own, self.shared_tolerance**2 / 3)
        source = 0.0 if self.source_covariance is None else self.source_covariance
        covariance: FloatArray = own + shared + source
        return covariance

    def beside(self, rows: Rows) -> "Anchors":
        """Return the same anchors with the features of these rows, made as theirs are.

        Anchors that hold labels, or that are the rows themselves, are refused. Columns that the
        data has and no feature is made of are left out, and noted.
        """
        encoding, own = rows.encoding, self.feature_names
        if own is None and encoding is not None:
            raise AnchorError(
                "anchors has no column names, but features are made from the columns "
                f"{join_quoted(encoding.columns)}: give anchors as a data frame with these."
            )
        needed, ignored = (None, ()) if own is None else columns_beside(own, rows)
        if needed is None:
            if self.as_given is not None:
                refuse_text(self.as_given)
            self._refuse_the_data(self.points_for(None, rows.n_features), rows)
            return self
        given: Any = self.as_given
        if given is None:
            given = as_arrow(dict(zip(own or (), self.points.T, strict=True)), "anchors")
        points = features_of(given.select(list(needed)), encoding)
        self._refuse_the_data(points, rows)
        ignored = (*self.ignored, *ignored)
        return self._but(
            points=_read_only(points), feature_names=rows.feature_names, ignored=ignored
        )

    def _refuse_the_data(self, points: FloatArray, rows: Rows) -> None:
        """Refuse anchors that are the data; a model may state another posterior for each row."""
        if len(np.unique(self.posterior)) <= MOST_BY_EXPERTS:
            refuse_the_data(points, rows)

    def _but(self, **changes: Any) -> "Anchors":
        """Return a copy with some parts changed."""
        copy = object.__new__(Anchors)
        for name in self.__slots__:
            object.__setattr__(copy, name, changes.get(name, getattr(self, name)))
        return copy

    def points_for(self, feature_names: tuple[str, ...] | None, n_features: int) -> FloatArray:
        """Return the points with columns in the order of the data's features."""
        own, needed = self.feature_names, feature_names
        if own is not None and needed is not None:
            refuse_other_columns(own, needed, needed)
            return self.points[:, [own.index(name) for name in needed]]
        n_columns = self.points.shape[1]
        if n_columns != n_features:
            raise AnchorError(
                f"anchors has {counted(n_columns, 'column')} but X has {n_features}: give each "
                "anchor the same features as X, in the same order."
            )
        return self.points


def anchors_of(rows: Rows, path: Path | None, **settings: Any) -> Anchors | None:
    """Return the anchors of a file, or those that a column of the data marks, if there are any."""
    if path is not None:
        chosen = rows.features_chosen
        return Anchors.in_table(anchor_table(path), rows, path, any_others=chosen, **settings)
    marked = marked_anchors(rows)
    return None if marked is None else Anchors(marked[0], posterior=marked[1], **settings)


def tolerance_words(own: tuple[float, float], shared: float, by_default: bool) -> str:
    """Say how well anchors are known: each, and all together."""
    low, high = own
    if high == 0 and shared == 0:
        return "taken as exact"
    each = f"±{low:.2g}" if low == high else f"±{low:.2g} to ±{high:.2g}"
    how = "by default" if by_default else "as stated"
    return f"tolerance {each}, shared {f'±{shared:.2g}' if shared else 'none'} ({how})"


def _read_shared(values: Any, n_anchors: int) -> float:
    """Return the one number that all anchors share, which a file repeats for each."""
    column = as_array(values)
    if column.shape == (n_anchors,) and column.dtype.kind in "iuf":
        low, high = float(column.min()), float(column.max())
        if low != high:
            raise AnchorError(
                f"shared_tolerance runs from {low:g} to {high:g} but is what all anchors share: "
                "give one number."
            )
        values = low
    return check_between(values, "shared_tolerance", 0, 0.5, closed="left")


def _check_posterior(stated: FloatArray) -> None:
    outside = (stated < 0) | (stated > 1)
    if outside.any():
        value = float(stated[np.argmax(outside)])
        raise AnchorError(
            f"posterior is {value:g} but must be at least 0 and at most 1: it is a probability."
        )


def _check_tolerance(stated: FloatArray, widths: FloatArray, shared: float) -> None:
    """Refuse errors that could carry a posterior past 0 or 1."""
    if (widths < 0).any():
        raise AnchorError(f"tolerance is {float(widths.min()):g} but must not be negative.")
    room = np.minimum(stated, 1 - stated)
    # Posteriors stated at 0 or 1 have no room at all; the tests that take them read them as exact.
    too_wide = (widths + shared >= room) & (room > 0)
    if too_wide.any():
        worst = int(np.argmax(too_wide))
        total = float(widths[worst] + shared)
        name = "tolerance" if shared == 0 else "tolerance + shared_tolerance"
        what = "1/2" if room[worst] == 0.5 else f"{stated[worst]:g}"
        raise AnchorError(
            f"{name} is {total:g} but must be at least 0 and below {room[worst]:g}: "
            f"it is a distance from {what}."
        )


def _read_source_covariance(values: ArrayLike | None, n_anchors: int) -> FloatArray | None:
    """Check the covariance of posteriors that come from another model."""
    if values is None:
        return None
    given = as_array(values)
    if given.dtype.kind == "c":
        raise AnchorError("source_covariance holds complex numbers: give real ones.")
    matrix = np.array(given, dtype=np.float64)
    if matrix.shape != (n_anchors, n_anchors):
        raise AnchorError(
            f"source_covariance has shape {matrix.shape}, for {counted(n_anchors, 'anchor')}: give "
            "a square matrix with a row and a column for each anchor."
        )
    # What nearly cancels is rounding only, on the scale of the largest entry.
    hair = 1e-12 * float(np.abs(matrix).max())
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T, rtol=1e-8, atol=hair):
        raise AnchorError("source_covariance must be finite and symmetric: it is a covariance.")
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest < -1e-10 * max(float(np.abs(matrix).max()), 1e-300):
        raise AnchorError(
            f"source_covariance has a negative eigenvalue ({smallest:.2g}): it is not a covariance."
        )
    return (matrix + matrix.T) / 2


def _read_only(array: FloatArray) -> FloatArray:
    array.flags.writeable = False
    return array
