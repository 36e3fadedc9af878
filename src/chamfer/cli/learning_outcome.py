"""What ``chamfer learn`` says of the weights that it learnt."""

from chamfer.cli.terminal import results
from chamfer.learn.learnt import HeldOut, Learnt
from chamfer.learn.registry import all_recipes
from chamfer.learn.start import MIX
from chamfer.learn.theory import SampleComplexity, pairs_needed


def _legends(learnt: Learnt) -> list[str]:
    """The hyper-parameters of each recipe that was tried."""
    tried = {row.recipe for row in learnt.report.rows}
    return [f"{one.name} ({one.legend})" for one in all_recipes().values() if one.name in tried]


def print_outcome(learnt: Learnt) -> None:
    """Print what was chosen, and its quality on held-out queries."""
    report = learnt.report
    lines = [
        f"parentheses list hyper-parameters: {'; '.join(_legends(learnt))}",
        f"chosen: {learnt.chosen}; {learnt.why}",
        f"learnt from {report.queries} judged queries with {report.seen} distinct tokens, {report.measured_on}",
    ]
    if report.shares:
        shares = sorted(report.shares.items(), key=lambda one: -one[1])
        lines.append("blended: " + ", ".join(f"{name} {share:.0%}" for name, share in shares))
    for name in ("heaviest", "lightest", "special"):
        some = getattr(report, name)
        lines.append(f"{name}: " + ", ".join(f"{token} {weight:.2f}" for token, weight in some))
    if not report.converged:
        lines.append("the solver reached its iteration limit, so these weights are close to the optimum but not at it")
    for which, measured in (("test queries", learnt.held_out), ("of them apart from those learnt from", learnt.apart)):
        lines += [] if measured is None else _comparisons(which, measured)
    if learnt.held_out is not None and learnt.held_out.kept_apart:
        lines.append(f"test queries and those learnt from {learnt.held_out.kept_apart}")
    for line in lines:
        results.print(line, markup=False, soft_wrap=True)


def _comparisons(which: str, measured: HeldOut) -> list[str]:
    """A line for each measure: learnt weights against those that need no labels."""
    lines = []
    for name, after in measured.learnt.items():
        against = []
        for baseline, means, found in (
            ("uniform", measured.uniform, measured.against_uniform[name]),
            (MIX.name, measured.zero_shot, measured.against_zero_shot[name]),
        ):
            before = means[name]
            change = f"{found.difference / before:+.1%}" if before else "from 0"
            against.append(f"{baseline} {before:.4f} ({change}, p = {found.p_value:.4f})")
        lines.append(f"on {measured.queries} {which}, {name}: learnt {after:.4f}; {'; '.join(against)}")
    return lines


def print_theory(theory: SampleComplexity) -> None:
    """Print what theory says of the number of judged queries."""
    needed = "no number of pairs suffices" if theory.needed is None else f"{theory.needed:.3g} pairs suffice"
    results.print(
        f"Theorem 1: lambda_min(A) = {theory.smallest_eigenvalue:.3g} over {theory.tokens} tokens, so {needed} to "
        f"recover hidden weights from exact scores; there are {theory.pairs} here\n"
        f"generalisation bound with these pairs: {theory.excess_risk:.2f}; "
        f"reaching 0.5 takes {pairs_needed(theory.tokens, 0.5):.3g} pairs",
        markup=False,
        soft_wrap=True,
    )
