"""The picture of a plan: power against rows, one curve a number of toss-ups."""

from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from evenodds.errors import InputError
from evenodds.planning.plan import Plan
from evenodds.report.style import BLACK, GREY, RED, in_house_style, new_figure

STYLES = ("-", "--", "-.", ":")


@in_house_style
def plan_figure(plan: Plan) -> Figure:
    """Draw the power around a plan, the plan itself, and what was simulated.

    Raises
    ------
    InputError
        If the plan has no rows to draw against, as with summary numbers without any.
    """
    rows = [n for n in plan.row_numbers if n is not None]
    if plan.n_rows is None or not rows:
        raise InputError("this plan has no number of rows to draw against: give --rows.")
    figure, axes = new_figure(height=3.0)
    panel = axes[0, 0]
    shades = colormaps["viridis"]
    for place, k in enumerate(plan.anchor_numbers):
        shade = shades(0.8 * (1 - place / max(len(plan.anchor_numbers) - 1, 1)))
        panel.plot(
            rows,
            [powers[place] for powers in plan.powers],
            color=shade,
            linestyle=STYLES[place % len(STYLES)],
            label=f"{k} toss-up{'' if k == 1 else 's'}" if k else "no toss-ups",
        )
    panel.plot(
        [plan.n_rows], [plan.power], "o", color=BLACK, markersize=6, label="the plan", zorder=3
    )
    if plan.rows_range is not None and plan.rows_range.high is not None:
        panel.plot(
            [plan.rows_range.low, plan.rows_range.high],
            [plan.power, plan.power],
            color=BLACK,
            linewidth=1,
            marker="|",
            markersize=7,
            label=f"{plan.rows_range.level:.0%} interval from the pilot",
        )
    if plan.simulated is not None:
        seen = plan.simulated
        panel.errorbar(
            [plan.n_rows * 1.06],
            [seen.rate],
            yerr=[[seen.rate - seen.low], [seen.high - seen.rate]],
            fmt="s",
            color=RED,
            markersize=4,
            capsize=2.5,
            linewidth=1,
            label=f"simulated, {seen.runs} runs",
            zorder=3,
        )
    panel.axhline(
        plan.significance, color=GREY, linewidth=0.7, linestyle=":", label="level of the test"
    )
    panel.set_xscale("log")
    panel.set_xticks(rows)
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    panel.set_ylim(0, 1.02)
    panel.set_xlabel("Number of rows")
    panel.set_ylabel("Probability of rejecting\nuniform noise (power)")
    panel.set_title(
        f"Flips of {plan.noise.alpha:.1%} of positives and {plan.noise.beta:.1%} of negatives, "
        f"{plan.method} test, {plan.data}",
        loc="left",
    )
    panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure
