"""Candidates, minima and rankings of one dataset in one setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from chamfer.data.collection import Collection
from chamfer.data.judgements import TEST
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError
from chamfer.evaluate.first_stage import find_first
from chamfer.evaluate.measures import DEPTH as MEASURED
from chamfer.evaluate.rankings import find_candidates, rerank_candidates
from chamfer.evaluate.setup import Setup
from chamfer.learn.judged import JudgedQuery, teachable
from chamfer.learn.on_collection import judge_queries
from chamfer.reproduce.capped_recall import measure_all
from chamfer.reproduce.paper import Setting
from chamfer.reproduce.saved_splits import ROLES, QuerySplits, Role
from chamfer.reproduce.systems import CHAMFER
from chamfer.retrieve.stages import AUTO, BM25
from chamfer.weights.token_weights import TokenWeights


@dataclass(frozen=True)
class Scoring:
    """Candidates, minima and rankings of one dataset in one setting."""

    setup: Setup
    setting: Setting
    splits: QuerySplits

    @property
    def collection(self) -> Collection:
        """Documents, queries and judgements of the dataset."""
        return self.setup.collection

    def minima(self, role: Role, uniform: TokenWeights) -> list[JudgedQuery]:
        """Minima of the queries of a role that can be learnt from, over Chamfer's candidates."""
        queries = self.splits.texts(self.collection, role)
        (candidates,) = self._candidates(role, {CHAMFER: uniform}).values()
        found = judge_queries(self.setup, queries, candidates, self.splits.judgements(self.collection, role))
        try:
            return teachable(found)[0]
        except InputError:  # there are none; a tiny collection is evaluated all the same
            return []

    def rankings(self, weightings: Mapping[str, TokenWeights], *, with_own: bool = False) -> dict[str, list[Ranking]]:
        """Rankings of the test queries by each weighting, and BM25's where it is the first stage.

        In the end-to-end setting, each weighting ranks the candidates that it found itself. Distances are computed
        once for all weightings.

        Args:
            weightings: weights by name.
            with_own: whether weightings also rank the document that is the query itself, where there is one. It comes
                on top of the others, so that the rankings without it stay the same.
        """
        searched = self._candidates("test", weightings)
        found = {name: self._with_own(ranked) for name, ranked in searched.items()} if with_own else searched
        together = [
            Ranking.of(ranked[0].query_id, ids, [0.0] * len(ids))
            for ranked in zip(*found.values(), strict=True)
            for ids in [list(dict.fromkeys(document for one in ranked for document in one.document_ids))]
        ]
        deep = MEASURED + with_own
        ranked = rerank_candidates(self.setup, weightings, together, k=deep if self.setting == "rerank" else None)
        own = {
            name: [_among(one, candidates, deep) for one, candidates in zip(ranked[name], found[name], strict=True)]
            for name in weightings
        }
        return {**({BM25: searched[CHAMFER]} if self.setting == "rerank" else {}), **own}

    def bm25_on_all(self) -> dict[str, float]:
        """BM25 on all judged test queries, including those learnt from, to compare with published values."""
        queries = self.collection.judged_queries(TEST)
        values = measure_all(
            [self._bm25[query] for query in queries],
            {query: self.collection.judgements[TEST][query] for query in queries},
        )
        return {name: round(float(one.mean()), 6) for name, one in values.items()}

    def _candidates(self, role: Role, weightings: Mapping[str, TokenWeights]) -> dict[str, list[Ranking]]:
        queries = self.splits.texts(self.collection, role)
        if self.setting == "rerank":
            found = [self._bm25[query] for query in queries]
            return dict.fromkeys(weightings, found)
        return find_first(self.setup, queries, weightings, AUTO)

    def _with_own(self, rankings: Sequence[Ranking]) -> list[Ranking]:
        return [
            replace(one, document_ids=(*one.document_ids, own), scores=(*one.scores, -inf))
            if (own := self.collection.own_document(one.query_id))
            else one
            for one in rankings
        ]

    @cached_property
    def _bm25(self) -> dict[str, Ranking]:
        """BM25's candidates for all queries."""
        queries = self.collection.judged_queries(TEST)
        for role in ROLES:
            queries |= self.splits.texts(self.collection, role)
        return {
            ranking.query_id: ranking
            for ranking in find_candidates(self.collection, queries, depth=self.setup.depth, bm25=self.setup.bm25)
        }


def _among(ranking: Ranking, candidates: Ranking, k: int) -> Ranking:
    """The top of a ranking, restricted to some candidates."""
    own = set(candidates.document_ids)
    kept = [pair for pair in zip(ranking.document_ids, ranking.scores, strict=True) if pair[0] in own][:k]
    return Ranking(ranking.query_id, tuple(document for document, _ in kept), tuple(score for _, score in kept))
