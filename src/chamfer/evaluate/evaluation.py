"""The result of an evaluation: systems side by side on the same judged queries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from chamfer.data.judged import UnknownDocuments
from chamfer.data.judgements import Judgements
from chamfer.errors import UnknownNameError
from chamfer.evaluate.changes import Change, Explain, change_of
from chamfer.evaluate.groups import Grouping, group_judged
from chamfer.evaluate.headline import headline
from chamfer.evaluate.measures import MAIN, MEASURES, meaning
from chamfer.evaluate.notes import notes_on
from chamfer.evaluate.outcomes import Outcome, outcomes_of
from chamfer.evaluate.report import EXPLAINED, report_on
from chamfer.evaluate.significance import FEWEST_UNITS, Bootstrap, Comparison, Interval, compare
from chamfer.evaluate.system import System
from chamfer.support.files import write_text
from chamfer.support.notebook import Row, table
from chamfer.support.progress import Advance

# Digits of measures in JSON.
DIGITS = 6


@dataclass(frozen=True)
class Evaluation:
    """Systems on the same judged queries, each compared with a baseline.

    A notebook shows it as a table, and ``print`` as text; :meth:`table` is the same as data, and :meth:`save_report`
    writes a page that explains it.

    Args:
        dataset: name of the collection or index.
        split: name of the judged queries.
        texts: text of each query that was measured, by id, in the order of the values.
        judgements: grades of documents for each of these queries.
        documents: number of documents in the corpus.
        truncated: numbers of queries and documents that exceed the encoder's lengths.
        settings: encoder, lengths, form, first stage and depth.
        systems: results of each system.
        baseline: name of the system that the others are compared with.
        seconds: time that the evaluation took.
        unknown: judged documents that are not in the corpus.
        left_out: number of queries that were not measured, because weights were learnt from them.
        explainer: explains the score of a document, given a system, a query and ids of documents; None if the documents
            are no longer available.

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
    >>> evaluation.headline(evaluation["idf-soft"])
    'idf-soft and uniform rank relevant documents equally high in the top 10 for both queries.'
    """

    dataset: str
    split: str
    texts: Mapping[str, str]
    judgements: Judgements
    documents: int
    truncated: Mapping[str, int]
    settings: Mapping[str, Any]
    systems: tuple[System, ...]
    baseline: str
    seconds: float
    unknown: UnknownDocuments
    left_out: int = 0
    explainer: Explain | None = field(default=None, repr=False, compare=False)

    def __getitem__(self, name: str) -> System:
        """The system with a name."""
        found = next((system for system in self.systems if name in (system.name, system.label)), None)
        if found is None:
            known = ", ".join(system.name for system in self.systems)
            raise UnknownNameError(f"no system is called {name!r}; there are: {known}")
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Pickle everything but the explainer, which has an index and a model behind it."""
        return {**self.__dict__, "explainer": None}

    @property
    def queries(self) -> int:
        """Number of queries that were measured."""
        return len(self.texts)

    @property
    def units(self) -> int:
        """Number of queries that tests and intervals take as independent; see :attr:`grouped_by`."""
        return self._grouping.groups

    @property
    def grouped_by(self) -> str:
        """What makes several queries one unit: ``document``, their words or a relevant document; ``text``, words only.

        It is ``text`` where relevant documents connect more than half of the queries. These would all be one unit, and
        hardly any difference could be told from chance; now p-values may be too small, which a note says.
        """
        return self._grouping.by

    @property
    def others(self) -> list[System]:
        """The systems that are compared with the baseline."""
        return [system for system in self.systems if system.name != self._baseline.name]

    def against_baseline(self, system: System, measure_name: str) -> Comparison:
        """Compare a system with the baseline, query by query; see :attr:`units` for what the test takes as one.

        Args:
            system: one of the systems, such as ``evaluation["idf-soft"]``.
            measure_name: name of a measure, such as ``nDCG@10``.
        """
        key = system.name, measure_name
        if key not in self._comparisons:
            values = self._baseline.values[measure_name]
            self._comparisons[key] = compare(system.values[measure_name], values, groups=self._grouping.labels)
        return self._comparisons[key]

    def interval(self, system: System, measure_name: str) -> Interval | None:
        """Return the 95% interval of a system's mean difference to the baseline; None with too few :attr:`units`.

        Args:
            system: one of the systems.
            measure_name: name of a measure.
        """
        return self._intervals.get((system.name, measure_name))

    def outcomes(self, system: System, measure_name: str = MAIN) -> list[Outcome]:
        """Return what happened to each query: won, lost or unchanged; largest loss first.

        Args:
            system: one of the systems.
            measure_name: name of a measure.
        """
        return outcomes_of(self.texts, system.values[measure_name], self._baseline.values[measure_name])

    def explain(self, query: str, system: System) -> Change | None:
        """Explain why a query was won or lost: which document overtook which, and the words that made the difference.

        Args:
            query: id of the query.
            system: one of the systems.

        Returns:
            None if no relevant document gained or lost anything by its rank.
        """
        if query not in self.texts:
            raise UnknownNameError(f"no query that was measured has the id {query!r}")
        own, baseline = ((one.name, one.by_query.get(query)) for one in (system, self._baseline))
        return change_of(query, self.judgements[query], baseline, own, self.explainer)

    def headline(self, system: System) -> str:
        """Say in plain words how a system compares with the baseline.

        Args:
            system: one of the systems.
        """
        compared = self.against_baseline(system, MAIN)
        return headline(system.label, self._baseline.label, compared, units=self.units)

    def notes(self) -> list[str]:
        """Say what to know before the numbers are believed, in one sentence each."""
        found = notes_on(
            self.systems,
            self.texts,
            dataset=self.dataset,
            split=self.split,
            documents=self.documents,
            truncated=self.truncated,
            settings=self.settings,
            unknown=self.unknown,
            left_out=self.left_out,
            connected=self._grouping.why,
        )
        return list(found)

    def table(self) -> list[dict[str, Any]]:
        """Return one row per system: its measures, and the comparison of its nDCG@10 with the baseline's.

        ``pandas.DataFrame(evaluation.table())`` is a data frame of it.
        """
        return [
            {"system": system.label, **system.measures, **self.against_baseline(system, MAIN)._asdict()}
            for system in self.systems
        ]

    def save_report(self, path: str | Path, *, explained: int = EXPLAINED) -> None:
        """Write a page that shows everything and needs no server: one HTML file.

        Args:
            path: the file.
            explained: number of the worst losses, and of the best wins, of each system that are explained.
        """
        write_text(Path(path), report_on(self.as_json(explained=explained)))

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

    def as_json(self, *, explained: int = 0) -> dict[str, Any]:
        """Everything except the rankings, ready for ``json.dumps``.

        Args:
            explained: number of the worst losses, and of the best wins, of each system to explain.
        """
        return self.made_json(explained, lambda _: None)

    def made_json(self, explained: int, advance: Advance) -> dict[str, Any]:
        """Internal: the same, and call ``advance`` before every comparison and explanation, which may take long."""
        return {
            "dataset": self.dataset,
            "split": self.split,
            "queries": self.queries,
            "units": self.units,
            "grouped_by": self.grouped_by,
            "left_out": self.left_out,
            "unknown": len(self.unknown.ids),
            "documents": self.documents,
            "truncated": dict(self.truncated),
            "settings": dict(self.settings),
            "notes": self.notes(),
            "baseline": self.baseline,
            "main": MAIN,
            "measures": {name: meaning(name) for name in MEASURES},
            "judged": [{"id": query, "text": text} for query, text in self.texts.items()],
            "systems": [self._system_json(system, explained, advance) for system in self.systems],
            "seconds": round(self.seconds, 1),
        }

    def _system_json(self, system: System, explained: int, advance: Advance) -> dict[str, Any]:
        compared = {}
        for name in MEASURES:
            advance(1)
            compared[name] = self.against_baseline(system, name)._asdict()
        return {
            "name": system.name,
            "label": system.label,
            "headline": "" if system.name == self._baseline.name else self.headline(system),
            "measures": {name: round(value, DIGITS) for name, value in system.measures.items()},
            "against_baseline": {
                name: {**one, "interval": self.interval(system, name)} for name, one in compared.items()
            },
            "values": {name: values.round(DIGITS).tolist() for name, values in system.values.items()},
            "changes": [change.as_json() for change in self._changes(system, explained, advance)],
            "answered": system.answered,
            "made": dict(system.made),
        }

    def _changes(self, system: System, explained: int, advance: Advance) -> list[Change]:
        """The explanations of the worst losses, worst first, then of the best wins, best first."""
        outcomes = self.outcomes(system)
        lost = [one.query for one in outcomes if one.happened == "lost"][:explained]
        won = [one.query for one in reversed(outcomes) if one.happened == "won"][:explained]
        changes = []
        for query in (*lost, *won):
            advance(1)
            changes.append(self.explain(query, system))
        return [change for change in changes if change is not None]

    @cached_property
    def _baseline(self) -> System:
        return self[self.baseline]

    @cached_property
    def _comparisons(self) -> dict[tuple[str, str], Comparison]:
        """By system and measure, once asked for: with a thousand queries, each takes a third of a second."""
        return {}

    @cached_property
    def _grouping(self) -> Grouping:
        return group_judged(self.texts, self.judgements)

    @cached_property
    def _intervals(self) -> dict[tuple[str, str], Interval]:
        """By system and measure; all from the same bootstrap samples."""
        if self.units < FEWEST_UNITS or not self.others:
            return {}
        keys = [(system, name) for system in self.others for name in MEASURES]
        differences = [system.values[name] - self._baseline.values[name] for system, name in keys]
        found = Bootstrap(self.queries, groups=self._grouping.labels).intervals(np.stack(differences, axis=1))
        return {(system.name, name): interval for (system, name), interval in zip(keys, found, strict=True)}


def _text(value: str | float) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
