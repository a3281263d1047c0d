"""Audits whose rows share items or annotators: how they are drawn, and what tests say of them."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from evenodds.inference.audit.audit_test import audit_pvalue, method_of
from evenodds.inference.audit.counts import AuditedLabels, groupings_of, worth
from evenodds.inference.audit.exact import clopper_pearson
from evenodds.inference.audit.score import AuditByGiven, AuditByTrue

CRITICAL = stats.norm.isf(0.025)


@dataclass(frozen=True)
class GroupCell:
    """Items with several answers, annotators with many, or both; flips, and what they share.

    Flip probabilities are beta-distributed over items, or over annotators, with the given mean
    and correlation between two rows that share one. Of annotators, `leaning` ones flip one
    class more the less they flip the other; else each has rates of their own.
    """

    groups: int
    rows_each: int
    balance: float
    alpha: float
    beta: float
    correlations: tuple[float, float] = (0.3, 0.3)
    shared: str = "items"  # or "annotators", "leaning", "both"
    sampled_by: str = "random"
    audited: int = 0  # rows audited by given label; the rest is the whole data
    annotators: int = 0  # where items and annotators are shared
    uneven: bool = False

    @property
    def name(self) -> str:
        """A row of the table."""
        sizes = f"{self.rows_each}{' on average' if self.uneven else ''}"
        groups = f"{self.groups} {'items' if self.shared == 'both' else self.shared}"
        groups = groups.replace("leaning", "leaning annotators")
        if self.annotators:
            groups += f" by {self.annotators} annotators"
        audited = f", {self.audited} audited" if self.audited else ""
        first, second = self.correlations
        return (
            f"| {self.sampled_by} | {groups} x {sizes}{audited} | {self.balance:g} "
            f"| {self.alpha:g} / {self.beta:g} | {first:g} / {second:g} |"
        )

    def draw(self, rng):
        """Return true labels, given labels, group numbers and the counts of given labels."""
        true, flipped, groups = getattr(self, f"_{self.shared}")(rng)
        given = true ^ flipped
        if self.sampled_by != "given":
            return true, given, groups, None
        counts = int((~given).sum()), int(given.sum())
        halves = [rng.permutation(np.flatnonzero(given == label)) for label in (False, True)]
        chosen = np.concatenate([half[: self.audited // 2] for half in halves])
        numbered = tuple(np.unique(group[chosen], return_inverse=True)[1] for group in groups)
        return true[chosen], given[chosen], numbered, counts

    def _sizes(self, rng):
        if self.uneven:
            return rng.geometric(1 / self.rows_each, self.groups)
        return np.full(self.groups, self.rows_each)

    def _items(self, rng):
        """Each item has one true class and a difficulty of its own."""
        positive = rng.random(self.groups) < self.balance
        if self.sampled_by == "true":
            positive = np.arange(self.groups) < round(self.groups * self.balance)
        chance = np.where(
            positive,
            difficulties(rng, self.alpha, self.correlations[0], self.groups),
            difficulties(rng, self.beta, self.correlations[1], self.groups),
        )
        items = np.repeat(np.arange(self.groups), self._sizes(rng))
        return positive[items], rng.random(len(items)) < chance[items], (items,)

    def _annotators(self, rng):
        """Annotators answer different items, each with rates of their own."""
        alphas = difficulties(rng, self.alpha, self.correlations[0], self.groups)
        betas = difficulties(rng, self.beta, self.correlations[1], self.groups)
        return self._answers(rng, alphas, betas)

    def _leaning(self, rng):
        """Annotators who flip one class more flip the other less."""
        share = rng.random(self.groups)
        alphas = _beta_quantiles(share, self.alpha, self.correlations[0])
        betas = _beta_quantiles(1 - share, self.beta, self.correlations[1])
        return self._answers(rng, alphas, betas)

    def _answers(self, rng, alphas, betas):
        who = np.repeat(np.arange(self.groups), self._sizes(rng))
        true = rng.random(len(who)) < self.balance
        return true, rng.random(len(who)) < np.where(true, alphas[who], betas[who]), (who,)

    def _both(self, rng):
        """Items of a difficulty, answered by annotators of a leaning: a normal threshold.

        The correlations are those of the threshold: of an item, and of an annotator.
        """
        items = np.repeat(np.arange(self.groups), self.rows_each)
        who = np.concatenate(
            [rng.permutation(self.annotators)[: self.rows_each] for _ in range(self.groups)]
        )
        true = (rng.random(self.groups) < self.balance)[items]
        of_item, of_annotator = self.correlations
        leaning = np.where(true, 1, -1) * rng.normal(size=self.annotators)[who]
        pull = np.sqrt(of_item) * rng.normal(size=self.groups)[items]
        pull += np.sqrt(of_annotator) * leaning
        pull += np.sqrt(1 - of_item - of_annotator) * rng.normal(size=len(items))
        flipped = pull < stats.norm.ppf(np.where(true, self.alpha, self.beta))
        return true, flipped, (items, who)


def difficulties(rng, mean: float, correlation: float, size: int) -> np.ndarray:
    """Draw flip probabilities: beta-distributed, so that rows sharing one are correlated."""
    if correlation == 0:
        return np.full(size, mean)
    total = (1 - correlation) / correlation
    return rng.beta(mean * total, (1 - mean) * total, size)


def _beta_quantiles(share, mean: float, correlation: float) -> np.ndarray:
    total = (1 - correlation) / correlation
    return stats.beta.ppf(share, mean * total, (1 - mean) * total)


def judge(cell: GroupCell, runs: int, seed: int = 6, declared: int = 2) -> np.ndarray:
    """Return how often equal flips are rejected without and with groups, and what is covered.

    Coverage is that of the 95% intervals of the asymmetry, of alpha and of beta. Of items and
    annotators the first alone may be `declared`.
    """
    key = [seed, cell.groups, cell.rows_each, round(1000 * cell.balance), round(1000 * cell.beta)]
    rng = np.random.default_rng(key)
    found = []
    while len(found) < runs:
        true, given, groups, counts = cell.draw(rng)
        if true.any() and not true.all():
            labels = AuditedLabels(true, given, 1, 0)
            found.append(_judged(cell, labels, groups[:declared], counts))
    return np.mean(found, axis=0)


def _judged(cell, labels, groups, counts):
    flips = labels.flips()
    groupings = groupings_of(groups, labels, counts)
    truths = {"asymmetry": cell.beta - cell.alpha, "alpha": cell.alpha, "beta": cell.beta}
    plain = audit_pvalue(flips, "two-sided", counts) < 0.05
    if counts is not None:
        audit = AuditByGiven(flips, *counts, groupings)
        z = audit.at if method_of(audit) == "score" else audit.root_at
        held = [abs(z(truth, name).z) <= CRITICAL for name, truth in truths.items()]
        return plain, abs(z(0.0).z) > CRITICAL, *held
    rejected = abs(AuditByTrue(flips, groupings).z(0.0)) > CRITICAL
    held = [abs(AuditByTrue(flips, groupings).z(truths["asymmetry"])) <= CRITICAL]
    for name, hits, n in (
        ("alpha", flips.flipped_positive, flips.n_positive),
        ("beta", flips.flipped_negative, flips.n_negative),
    ):
        rows = worth(groupings, n, name, 0.95)
        low, high = clopper_pearson(rows * (hits / n), rows, 0.95)
        held.append(low <= truths[name] <= high)
    return plain, rejected, *held


GROUP_LEVEL_CELLS = (
    GroupCell(40, 3, 0.2, 0.1, 0.1),
    GroupCell(40, 3, 0.5, 0.3, 0.3),
    GroupCell(40, 10, 0.2, 0.05, 0.05),
    GroupCell(40, 10, 0.5, 0.1, 0.1, (0.1, 0.6)),
    GroupCell(100, 3, 0.5, 0.05, 0.05),
    GroupCell(100, 10, 0.2, 0.3, 0.3),
    GroupCell(100, 10, 0.2, 0.05, 0.05, (0.6, 0.1)),
    GroupCell(100, 10, 0.3, 0.1, 0.1, uneven=True),
    GroupCell(400, 10, 0.05, 0.05, 0.05, (0.6, 0.1)),
    GroupCell(400, 10, 0.2, 0.05, 0.05, (0.6, 0.1)),
    GroupCell(400, 3, 0.2, 0.05, 0.05),
    GroupCell(400, 10, 0.5, 0.1, 0.1),
    GroupCell(400, 10, 0.2, 0.3, 0.3, (0.1, 0.6)),
    GroupCell(400, 3, 0.3, 0.1, 0.1, (0.0, 0.0)),
    GroupCell(40, 10, 0.2, 0.2, 0.2, sampled_by="true"),
    GroupCell(200, 3, 0.3, 0.1, 0.1, sampled_by="true"),
    GroupCell(100, 10, 0.3, 0.1, 0.1, sampled_by="given", audited=600),
    GroupCell(200, 10, 0.3, 0.2, 0.2, sampled_by="given", audited=400),
    GroupCell(400, 3, 0.2, 0.1, 0.1, sampled_by="given", audited=600),
    GroupCell(400, 10, 0.5, 0.05, 0.05, sampled_by="given", audited=800),
    GroupCell(5, 50, 0.5, 0.2, 0.2, (0.1, 0.1), "leaning"),
    GroupCell(10, 50, 0.3, 0.1, 0.1, (0.05, 0.05), "annotators"),
    GroupCell(20, 50, 0.5, 0.2, 0.2, (0.1, 0.1), "leaning"),
    GroupCell(20, 50, 0.3, 0.2, 0.2, (0.1, 0.1), "annotators", uneven=True),
    GroupCell(50, 20, 0.3, 0.1, 0.1, (0.1, 0.1), "leaning"),
    GroupCell(30, 100, 0.3, 0.1, 0.1, (0.05, 0.05), "leaning", "given", 900),
    GroupCell(100, 3, 0.3, 0.2, 0.2, (0.3, 0.1), "both", annotators=20),
    GroupCell(200, 5, 0.2, 0.1, 0.1, (0.3, 0.05), "both", annotators=30),
    GroupCell(200, 5, 0.5, 0.3, 0.3, (0.3, 0.1), "both", annotators=10),
)
GROUP_POWER_CELLS = (
    GroupCell(100, 3, 0.5, 0.05, 0.2),
    GroupCell(100, 10, 0.2, 0.05, 0.2),
    GroupCell(100, 10, 0.3, 0.0, 0.1, (0.0, 0.3)),
    GroupCell(400, 10, 0.2, 0.3, 0.15),
    GroupCell(200, 3, 0.3, 0.25, 0.1, sampled_by="true"),
    GroupCell(200, 10, 0.3, 0.25, 0.1, sampled_by="given", audited=800),
    GroupCell(20, 50, 0.3, 0.1, 0.2, (0.05, 0.05), "annotators"),
    GroupCell(50, 20, 0.3, 0.25, 0.1, (0.1, 0.1), "leaning"),
    GroupCell(200, 5, 0.2, 0.25, 0.1, (0.3, 0.05), "both", annotators=30),
)
