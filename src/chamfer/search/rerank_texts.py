"""Re-ranking requests that bring their own texts, as a job for workers."""

from dataclasses import dataclass

from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.kernels.form import Form
from chamfer.search.rerank import score_texts
from chamfer.support.progress import Advance
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import Table, add_row, empty_table, rows

REQUEST = ("where", "id", "query", "ids", "texts")
"""Columns of requests: origin for error messages, query id, query text, document ids, document texts."""

RESPONSE = ("query", "documents", "scores", "truncated")
"""Columns of responses: query id, document ids and scores, best first, and the number of truncated texts."""


@dataclass(frozen=True)
class RerankTexts:
    """A job from a table of :data:`REQUEST` to a table of :data:`RESPONSE`."""

    encoder: Encoder
    weights: TokenWeights
    form: Form
    k: int | None

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        ranked = empty_table(RESPONSE)
        for where, query_id, query_text, ids, document_texts in rows(table, REQUEST):
            query = self.encoder.tokenize([query_text], "query")
            texts = self.encoder.tokenize(document_texts, "document")
            try:
                scores = score_texts(query, texts, encoder=self.encoder, weights=self.weights, form=self.form)
                ranking = Ranking.of(query_id, ids, scores, self.k)
            except InputError as error:
                raise InputError(f"{where}: {error}") from error
            truncated = query.truncated + texts.truncated
            add_row(ranked, query_id, list(ranking.document_ids), list(ranking.scores), truncated)
            advance(1)
        return ranked
