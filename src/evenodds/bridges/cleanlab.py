"""cleanlab's Datalab: an issue type `class_conditional_noise`, registered by importing this module.

Labels and predicted probabilities alone cannot tell which class is flipped more often: a model
that was learned from the labels follows their noise. What tells is the truth of a few rows drawn
at random along the score, or how likely an expert says they are. Until these are given, the issue
type says which rows to judge and claims nothing.
"""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError, MissingExtraError
from evenodds.inference.audit.audit_test import audit_test
from evenodds.inference.audit.result import AuditTestResult
from evenodds.inference.cases.choose import choose_cases
from evenodds.inference.cases.record import Answers, Cases, check_answers
from evenodds.inference.line.line_test import line_test
from evenodds.inference.line.result import LineTestResult
from evenodds.model.scores import out_of_fold_scores
from evenodds.report.sheet import View, sheet_of
from evenodds.validation import FloatArray, as_array, check_between, join_quoted

try:
    import pandas as pd
    from cleanlab.datalab.internal.issue_manager import IssueManager
    from cleanlab.datalab.internal.issue_manager_factory import register
except ImportError:
    raise MissingExtraError(
        "the issue type for Datalab needs the 'cleanlab' extra: install evenodds[cleanlab]."
    ) from None

# Rows drawn where nobody says how many.
CASES = 60
# So many of the drawn rows are named; the file has all of them.
NAMED = 5


@register
class ClassConditionalNoiseIssueManager(IssueManager):  # type: ignore[misc]
    """Datalab's issue type ``class_conditional_noise``: is one class flipped more often?

    The null hypothesis is uniform noise. Looked-up answers are tested by `audit_test` within strata
    of the score, which holds whatever flips depend on; stated probabilities by `line_test`.
    Settings go in through ``issue_types={"class_conditional_noise": {...}}``; see `find_issues`.

    Examples
    --------
    >>> import numpy as np
    >>> import evenodds as eo
    >>> import evenodds.bridges.cleanlab  # registers the issue type
    >>> from cleanlab import Datalab
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> true = (X[:, 0] + 0.5 * rng.logistic(size=2000) > 0).astype(int)
    >>> given = eo.ClassConditionalNoise(alpha=0.05, beta=0.3).flip(true, rng)
    >>> scores = eo.out_of_fold_scores(X, given)
    >>> cases = eo.choose_cases(scores, n_cases=100, given=given)
    >>> settings = {
    ...     "pred_probs": np.column_stack([1 - scores, scores]),
    ...     "cases": cases,
    ...     "answers": true[cases.rows],  # looked up
    ...     "kind": "looked-up",
    ... }
    >>> lab = Datalab(data={"y": given}, label_name="y", verbosity=0)
    >>> lab.find_issues(issue_types={"class_conditional_noise": settings})
    >>> lab.get_info("class_conditional_noise")["pvalue"] < 0.01
    True
    """

    issue_name: ClassVar[str] = "class_conditional_noise"
    description: ClassVar[str] = (
        "Labels of one class are flipped more often than those of the other, by a test on rows "
        "whose truth was looked up, or that an expert judged.\n\n"
        "Flagged are rows to look at first: those labelled as the class that gains, where the "
        "model says otherwise. The overall score is the p-value."
    )
    verbosity_levels: ClassVar[dict[int, list[str]]] = {0: ["verdict"], 1: [], 2: [], 3: []}

    def find_issues(
        self,
        *,
        answers: Any = None,
        cases: Cases | str | Path | None = None,
        kind: str | None = None,
        pred_probs: Any = None,
        features: Any = None,
        n_cases: int = CASES,
        alternative: str = "two-sided",
        significance: float = 0.05,
        **_: Any,
    ) -> None:
        """Test the answers, or draw the rows to judge.

        Parameters
        ----------
        answers : array-like, optional
            What is known of the drawn rows, in the order of ``cases.rows``: their true labels, or
            the probability that each truly is of the second class. Without answers nothing is
            tested: rows are drawn, kept in `cases`, and named.
        cases : Cases or path
            The drawn rows, or the file that keeps them.
        kind : {"looked-up", "probability"}
            What the answers are.
        pred_probs : array-like of shape (n_rows, 2), optional
            Predicted probabilities, out of fold.
        features : array-like of shape (n_rows, n_features), optional
            Instead of `pred_probs`: these are then made by `out_of_fold_scores`.
        n_cases : int, default 60
            How many rows to draw.
        alternative : {"two-sided", "greater", "less"}
            "greater" means that the first class is flipped more often.
        significance : float, default 0.05
            Rows are flagged where the p-value is below.
        """
        level = check_between(significance, "significance", 0, 1, closed="neither")
        if kind is None:
            raise InputError(
                "kind is missing: say 'looked-up' where answers are the truth, 'probability' where "
                "each says how likely the row truly is of the second class."
            )
        asked = check_answers(kind, "kind")
        codes, names = self._labels()
        scores = self._scores(pred_probs, features, codes)
        if answers is None:
            raise InputError(
                _to_judge(scores, codes, cases, asked, n_cases=n_cases, positive=names[1])
            )
        drawn = Cases.read(cases) if isinstance(cases, (str, Path)) else cases
        if not isinstance(drawn, Cases):
            raise InputError("cases is missing: give the drawn rows that the answers are about.")
        given = np.array(names, dtype=object)[codes]
        options: Any = {"positive": names[1], "alternative": alternative}
        result: Any
        if asked == "looked-up":
            result = audit_test(as_array(answers), given, strata=drawn, scores=scores, **options)
        else:
            result = line_test(scores, given, drawn, answers, answers=asked, **options)
        self._keep(result, codes, scores, level)

    def _labels(self) -> tuple[NDArray[np.intp], list[Any]]:
        """Return the labels as 0 and 1, and what they are called."""
        if not self.datalab.has_labels:
            raise InputError("label_name is missing: Datalab has no labels to test.")
        names = list(self.datalab.class_names)
        if len(names) != 2:
            raise InputError(
                f"the data has {len(names)} classes ({join_quoted(names[:5])}) but this issue type "
                "is about 2: keep the rows of two."
            )
        return np.asarray(self.datalab.labels, dtype=np.intp), names

    def _scores(self, pred_probs: Any, features: Any, codes: NDArray[np.intp]) -> FloatArray:
        """Return the probability of the second class for each row."""
        if pred_probs is None:
            if features is None:
                raise InputError(
                    "pred_probs is missing: pass it, or features, inside issue_types; Datalab "
                    "hands its own only to its own issue types."
                )
            return out_of_fold_scores(features, codes)
        table = as_array(pred_probs)
        if table.shape != (len(codes), 2):
            raise InputError(
                f"pred_probs has shape {table.shape} but must have {(len(codes), 2)}: a "
                "probability of either class for each row."
            )
        return np.asarray(table[:, 1], dtype=float)

    def _keep(
        self,
        result: AuditTestResult | LineTestResult,
        codes: NDArray[np.intp],
        scores: FloatArray,
        significance: float,
    ) -> None:
        """Keep the result as Datalab wants it: a score and a flag a row, a summary, and words."""
        quality, flagged = np.ones(len(codes)), np.zeros(len(codes), dtype=bool)
        if result.pvalue < significance:
            gaining = codes == (1 if result.statistic > 0 else 0)
            quality[gaining] = np.where(codes == 1, scores, 1 - scores)[gaining]
            # Datalab reports an issue only where a row has it: at least the most suspicious.
            flagged = gaining & (quality <= max(0.5, quality.min()))
        columns = {f"is_{self.issue_name}_issue": flagged, self.issue_score_key: quality}
        self.issues = pd.DataFrame(columns)
        self.summary = self.make_summary(score=result.pvalue)
        self.info = self.collect_info(result, significance)

    def collect_info(
        self, result: AuditTestResult | LineTestResult, significance: float
    ) -> dict[str, Any]:
        """Return the result in words, in figures and whole."""
        interval = result.confidence_interval()
        return {
            "verdict": sheet_of(result, View(significance=significance)).verdict,
            "pvalue": result.pvalue,
            "asymmetry": result.asymmetry,
            "confidence_interval": [interval.low, interval.high],
            "result": result.to_dict(),
        }


def _to_judge(
    scores: FloatArray,
    codes: NDArray[np.intp],
    cases: Cases | str | Path | None,
    kind: Answers,
    *,
    n_cases: int,
    positive: Any,
) -> str:
    """Draw rows, keep them, and say that they are to be judged."""
    if not isinstance(cases, (str, Path)):
        raise InputError(
            "answers is missing, so nothing was tested: labels and predictions alone do not tell "
            "which class is flipped more often. Give cases='cases.json', a file to keep drawn rows "
            "in, then judge these rows and pass answers."
        )
    if Path(cases).exists():
        drawn = Cases.read(cases)
        drawn.strata_of(scores)
    else:
        # The truth is looked up of both labels; an expert's probabilities need no such design.
        given = codes if kind == "looked-up" else None
        drawn = choose_cases(scores, n_cases=n_cases, given=given)
        drawn.save(cases)
    first = ", ".join(map(str, drawn.rows[:NAMED].tolist()))
    what = "look up the true label" if kind == "looked-up" else f"say how likely truly {positive!r}"
    return (
        f"answers is missing, so nothing was tested. {len(drawn)} rows were drawn: {first} and so "
        f"on, all of them in {cases} (Cases.read(path).rows). Of each, in that order and without "
        f"showing label or score, {what}; then pass answers."
    )
