"""The result of an evaluation: systems side by side on the same judged queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.errors import UnknownNameError
from chamfer.evaluate.measures import MAIN, MEASURES, PerQuery
from chamfer.evaluate.significance import Comparison, compare
from chamfer.evaluate.weightings import label_of
from chamfer.kernels.form import Form
from chamfer.support.notebook import Row, table


@dataclass(frozen=True)
class System:
    """One system: its rankings, their measures, and how its weights were made.

    Args:
        name: name of a weighting, a weights file, a first stage or a run.
        rankings: documents ranked for each query.
        values: each measure for every query.
        made: metadata of the weights; empty for a first stage or a run.
    """

    name: str
    rankings: Sequence[Ranking]
    values: PerQuery
    made: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The name in tables: a weights file without its folder and suffix."""
        return label_of(self.name)

    @property
    def measures(self) -> dict[str, float]:
        """The mean of each measure over the queries."""
        return {name: float(values.mean()) for name, values in self.values.items()}

    @property
    def answered(self) -> int:
        """Number of queries with at least one document."""
        return sum(len(ranking) > 0 for ranking in self.rankings)


def settings_json(encoder: Encoder, form: Form, first_stage: str | None, depth: int | None) -> dict[str, Any]:
    """Return the settings of an evaluation, as :class:`Evaluation` records them."""
    return {
        "encoder": encoder.name,
        "query_length": encoder.query_length,
        "document_length": encoder.document_length,
        "form": form,
        "first_stage": first_stage,
        "depth": depth,
    }


@dataclass(frozen=True)
class Evaluation:
    """Systems on the same judged queries, each compared with a baseline.

    A notebook shows it as a table, and ``print`` as text; :meth:`table` is the same as data.

    Args:
        dataset: name of the collection or index.
        split: name of the judged queries.
        queries: number of judged queries.
        documents: number of documents in the corpus.
        truncated: numbers of queries and documents that exceed the encoder's lengths.
        settings: encoder, lengths, form, first stage and depth.
        systems: results of each system.
        baseline: name of the system that the others are compared with.
        seconds: time that the evaluation took.
        left_out: number of queries that were not measured, because weights were learnt from them.

    >>> from chamfer import Collection, evaluate
    >>> pets = Collection(
    ...     name="pets",
    ...     documents={"cats": "Cats sleep all day.", "dogs": "Dogs bark at night.", "birds": "Birds sing all day."},
    ...     queries={"q1": "why do cats sleep", "q2": "what do birds do"},
    ...     judgements={"test": {"q1": {"cats": 1}, "q2": {"birds": 1}}},
    ... )
    >>> evaluation = evaluate(pets, ["uniform", "idf-soft"], cache=getfixture("tmp_path"))
    >>> evaluation.baseline, evaluation["idf-soft"].measures["nDCG@10"]
    ('uniform', 1.0)
    >>> evaluation.against_baseline(evaluation["idf-soft"], "nDCG@10").difference
    0.0
    """

    dataset: str
    split: str
    queries: int
    documents: int
    truncated: Mapping[str, int]
    settings: Mapping[str, Any]
    systems: tuple[System, ...]
    baseline: str
    seconds: float
    left_out: int = 0

    def __getitem__(self, name: str) -> System:
        """The system with a name."""
        found = next((system for system in self.systems if name in (system.name, system.label)), None)
        if found is None:
            known = ", ".join(system.name for system in self.systems)
            raise UnknownNameError(f"no system is called {name!r}; there are: {known}")
        return found

    def against_baseline(self, system: System, measure_name: str) -> Comparison:
        """Compare a system with the baseline, query by query.

        Args:
            system: one of the systems, such as ``evaluation["idf-soft"]``.
            measure_name: name of a measure, such as ``nDCG@10``.
        """
        return compare(system.values[measure_name], self[self.baseline].values[measure_name])

    def table(self) -> list[dict[str, Any]]:
        """Return one row per system: its measures, and the comparison of its nDCG@10 with the baseline's.

        ``pandas.DataFrame(evaluation.table())`` is a data frame of it.
        """
        return [
            {"system": system.label, **system.measures, **self.against_baseline(system, MAIN)._asdict()}
            for system in self.systems
        ]

    @property
    def title(self) -> str:
        """What was measured, in one line."""
        return f"{self.dataset}, {self.split}: {self.queries} queries, {self.documents} documents"

    def __str__(self) -> str:
        rows = self.table()
        lines = [list(rows[0]), *([_text(value) for value in row.values()] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        first, *others = (
            " ".join(
                cell.rjust(width) if at else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )
        return "\n".join([self.title, first, *others])

    def _repr_html_(self) -> str:
        rows: list[Row] = [tuple(row.values()) for row in self.table()]
        return table(list(self.table()[0]), rows, caption=self.title)

    def as_json(self) -> dict[str, Any]:
        """Everything except the rankings, ready for ``json.dumps``."""
        return {
            "dataset": self.dataset,
            "split": self.split,
            "queries": self.queries,
            "left_out": self.left_out,
            "documents": self.documents,
            "truncated": dict(self.truncated),
            "settings": dict(self.settings),
            "baseline": self.baseline,
            "systems": [
                {
                    "name": system.name,
                    "measures": {name: round(value, 6) for name, value in system.measures.items()},
                    "against_baseline": {name: self.against_baseline(system, name)._asdict() for name in MEASURES},
                    "answered": system.answered,
                    "made": dict(system.made),
                }
                for system in self.systems
            ],
            "seconds": round(self.seconds, 1),
        }


def _text(value: str | float) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
