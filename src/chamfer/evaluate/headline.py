"""A comparison in plain words, for people who do not know the measures."""

from chamfer.evaluate.measures import MAIN, cutoff
from chamfer.evaluate.significance import FEWEST_UNITS, SIGNIFICANCE, TIE, Comparison


def headline(system: str, baseline: str, compared: Comparison, *, units: int) -> str:
    """Say for how many queries a system is better and worse, and whether that could be chance.

    Args:
        system: name of the system.
        baseline: name of the baseline.
        compared: their comparison in :data:`MAIN`.
        units: number of queries that are independent of each other.

    >>> headline("learnt", "uniform", Comparison(0.02, 0.003, 31, 57, 12), units=100)
    'learnt ranks relevant documents higher than uniform for 31 queries and lower for 12; for 57, nothing changes in \
the top 10. The mean gain is unlikely to be chance (p = 0.003).'
    """
    top = f"the top {cutoff(MAIN)}"
    if compared.ties == compared.queries:
        return f"{system} and {baseline} rank relevant documents equally high in {top} for {_all(compared.ties)}."
    same = f"; for {compared.ties}, nothing changes in {top}" if compared.ties else f" in {top}"
    counts = (
        f"{system} ranks relevant documents higher than {baseline} for {_queries(compared.wins)} and lower for "
        f"{compared.losses or 'none'}{same}."
    )
    return f"{counts} {_chance(compared, units)}"


def p_text(p_value: float) -> str:
    """A p-value in a sentence.

    >>> p_text(0.0001), p_text(0.21)
    ('p < 0.001', 'p = 0.210')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _chance(compared: Comparison, units: int) -> str:
    if abs(compared.difference) <= TIE:
        return "On average, nothing is gained or lost."
    what = "gain" if compared.difference > 0 else "loss"
    if compared.p_value < SIGNIFICANCE:
        return f"The mean {what} is unlikely to be chance ({p_text(compared.p_value)})."
    few = "; these are too few queries to tell" if units < FEWEST_UNITS else ""
    return f"The mean {what} could be chance ({p_text(compared.p_value)}){few}."


def _all(count: int) -> str:
    return {1: "the only query", 2: "both queries"}.get(count, f"all {count} queries")


def _queries(count: int) -> str:
    return {0: "no query", 1: "1 query"}.get(count, f"{count} queries")
