"""Who gave the labels of an audit, and what is known of the rows of each."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.inference.audit.counts import (
    AuditedLabels,
    Flips,
    check_both_classes,
    check_both_given,
    read_given_counts,
    refuse_needless_counts,
)
from evenodds.inference.audit.result import SampledBy
from evenodds.rows.labels import as_labels, plain


def read_annotators(annotators: Any, n_rows: int) -> NDArray[Any]:
    """Return one annotator a row."""
    who = as_labels(annotators, "annotators")
    if who.shape != (n_rows,):
        raise InputError(
            f"annotators has shape {who.shape} but there are {n_rows:,} audited rows: say who "
            "gave the label of each."
        )
    return who


def counts_of_each(given_counts: Any, sampled_by: SampledBy, names: list[Any]) -> dict[str, Any]:
    """Return the counts of each annotator by name, where the design needs them."""
    if sampled_by != "given":
        refuse_needless_counts(given_counts, sampled_by)
        return {}
    if not isinstance(given_counts, Mapping):
        raise InputError(
            "given_counts is missing: rows audited by given class say nothing of how many rows "
            "have each label. Give the counts of each annotator, as "
            f"{{{plain(names[0])!r}: {{label: count, ...}}, ...}}."
        )
    known = {str(plain(name)): counts for name, counts in given_counts.items()}
    absent = [plain(name) for name in names if str(plain(name)) not in known]
    if absent:
        raise InputError(
            f"given_counts lacks annotator {absent[0]!r}: give the counts of each annotator's rows."
        )
    return known


def why_untested(flips: Flips, sampled_by: SampledBy, labels: AuditedLabels) -> str | None:
    """Return why the rows of an annotator allow no test, if so."""
    try:
        check_both_classes(flips, labels.positive, labels.negative)
        if sampled_by == "given":
            check_both_given(flips, labels.positive, labels.negative)
    except InputError as error:
        return str(error)
    return None


def own_counts(
    counts: dict[str, Any], name: Any, flips: Flips, labels: AuditedLabels
) -> tuple[int, int] | None:
    """Return the counts of an annotator's rows; a message about them says whose they are."""
    if not counts:
        return None
    try:
        return read_given_counts(counts[str(name)], flips, labels.positive, labels.negative)
    except InputError as error:
        raise InputError(f"of annotator {name!r}: {error}") from None
