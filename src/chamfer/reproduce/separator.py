"""IDF as the paper describes it: the separator weighs what its IDF says."""

from dataclasses import replace

from chamfer.learn.start import Start
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.weights.idf import idf_table
from chamfer.weights.special import separators
from chamfer.weights.token_weights import TokenWeights


def with_separator_idf(start: Start, frequencies: DocumentFrequencies) -> Start:
    """Return the same weights, but give the separator its IDF.

    The paper's special tokens are ``[MASK]``, ``[PAD]``, ``[QUERY]``, ``[DOCUMENT]`` and ``[CLS]``. ``[SEP]`` is not
    among them, so it is weighted like a word. Since every document ends with it, its IDF is nearly 0.
    """

    def like_a_word(weights: TokenWeights) -> TokenWeights:
        ids = separators(weights.vocabulary)
        table = weights.table.copy()
        table[ids] = idf_table(frequencies, weights.vocabulary)[ids]
        return replace(weights, table=table, metadata={**weights.metadata, "separator": "idf"})

    return start._replace(idf=like_a_word(start.idf), idf_without_special=like_a_word(start.idf_without_special))
