"""Weighted MaxSim inside sentence-transformers: its own similarities, evaluators and padding."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.multi_vector_encoder.evaluation import MultiVectorInformationRetrievalEvaluator
from sentence_transformers.util import maxsim, mean_maxsim, normalize_embeddings

from chamfer import Encoder, InputError, TokenBatch, TokenWeights, count_frequencies, rerank
from chamfer.errors import InputWarning
from chamfer.integrations.sentence_transformers import WeightedMaxSim, weighted_queries
from chamfer.kernels import reference
from chamfer.kernels.form import Form
from chamfer.weights.mix import NOTHING
from chamfer.weights.scale import Scale
from tests import checkpoints
from tests.conftest import DOCUMENTS, JUDGEMENTS, QUERIES
from tests.test_mixed_scores import mixed

TEXTS, ASKED = list(DOCUMENTS.values()), list(QUERIES.values())


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> MultiVectorEncoder:
    folder = tmp_path_factory.mktemp("stanford")
    checkpoints.make_stanford(folder)
    return MultiVectorEncoder(str(folder), device="cpu")


@pytest.fixture(scope="module")
def encoder(model: MultiVectorEncoder) -> Encoder:
    return Encoder(model, "tiny")


@pytest.fixture(scope="module")
def weights(encoder: Encoder) -> TokenWeights:
    return TokenWeights.soft_idf(count_frequencies(encoder, TEXTS), encoder.vocabulary)


def expected(encoder: Encoder, weights: TokenWeights, form: Form) -> torch.Tensor:
    """What our own function says."""
    scores = torch.empty(len(ASKED), len(TEXTS))
    for row, query in enumerate(ASKED):
        ranking = rerank(query, TEXTS, encoder=encoder, weights=weights, form=form)
        scores[row, [int(place) for place in ranking.document_ids]] = torch.tensor(ranking.scores)
    return scores


def total_weights(encoder: Encoder, weights: TokenWeights) -> torch.Tensor:
    """What MaxSim of folded queries is times our score."""
    return torch.tensor([float(weights.of(encoder.encode_queries([query])).sum()) for query in ASKED])[:, None]


def padded(matrices: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.nn.utils.rnn.pad_sequence(list(matrices), batch_first=True)


def close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-4)


def test_scaled_queries_make_its_maxsim_our_cosine_form(
    model: MultiVectorEncoder, encoder: Encoder, weights: TokenWeights
) -> None:
    queries = weighted_queries(encoder, ASKED, weights)
    documents = model.encode_document(TEXTS)
    score, totals = expected(encoder, weights, "cosine"), total_weights(encoder, weights)
    lengths = torch.tensor([len(query) for query in queries])[:, None]
    close(mean_maxsim(queries, documents), totals / lengths * score)
    close(model.similarity(queries, documents), totals * score)


def test_normalising_again_loses_the_weights(
    model: MultiVectorEncoder, encoder: Encoder, weights: TokenWeights
) -> None:
    again = [normalize_embeddings(query) for query in weighted_queries(encoder, ASKED, weights)]
    plain = model.similarity(model.encode_query(ASKED), model.encode_document(TEXTS))
    close(model.similarity(again, model.encode_document(TEXTS)), plain)


def test_a_token_without_weight_counts_nothing(model: MultiVectorEncoder, encoder: Encoder) -> None:
    table = np.ones(len(encoder.vocabulary), np.float32)
    table[encoder.vocabulary.ids["cats"]] = 0
    light = TokenWeights(table, encoder.vocabulary)
    queries, documents = weighted_queries(encoder, ASKED, light), model.encode_document(TEXTS)
    assert (queries[0] == 0).all(dim=1).sum() == 1
    lengths = torch.tensor([len(query) for query in queries])[:, None]
    close(mean_maxsim(queries, documents), total_weights(encoder, light) / lengths * expected(encoder, light, "cosine"))
    # Filled up to one length, the row of zeros passes for padding: the sum is the same, the mean is over fewer.
    close(maxsim(padded(queries), documents), maxsim(queries, documents))
    assert (mean_maxsim(padded(queries), documents)[0] > mean_maxsim(queries, documents)[0]).all()


@pytest.mark.parametrize("form", ["l2", "cosine"])
def test_the_similarity_of_its_embeddings_is_our_score(
    model: MultiVectorEncoder, encoder: Encoder, weights: TokenWeights, form: Form
) -> None:
    similarity = WeightedMaxSim.of(encoder, ASKED, weights, form=form)
    found = similarity(model.encode_query(ASKED), model.encode_document(TEXTS))
    assert found.dtype == torch.float32
    close(found, expected(encoder, weights, form))
    arrays = model.encode_query(ASKED, convert_to_numpy=True), model.encode_document(TEXTS, convert_to_numpy=True)
    close(similarity(*arrays), found)


def scattered(seed: int, lengths: Sequence[int]) -> list[torch.Tensor]:
    """Unit vectors in all directions; those of the tiny model are all much alike, and none is far from another."""
    generator = torch.Generator().manual_seed(seed)
    return [normalize_embeddings(torch.randn(length, 16, generator=generator)) for length in lengths]


@pytest.mark.parametrize("form", ["l2", "cosine"])
def test_padding_never_matches(form: Form) -> None:
    queries, documents = scattered(0, [3, 7, 5]), scattered(1, [2, 9, 1, 4])
    weights = [np.linspace(0, 2, len(query), dtype=np.float32) for query in queries]
    similarity = WeightedMaxSim(weights, form=form)
    batch = TokenBatch.pack([rows.numpy() for rows in documents], [[0] * len(rows) for rows in documents])
    defined = [
        Scale(own, form=form).scores(reference.score(query.numpy(), own, batch, form))
        for query, own in zip(queries, weights, strict=True)
    ]
    wanted = torch.from_numpy(np.stack(defined)).float()
    asked, marked = (
        padded([torch.ones(len(query)) for query in queries]),
        padded([torch.ones(len(rows)) for rows in documents]),
    )
    close(similarity(queries, documents), wanted)
    close(similarity(padded(queries), padded(documents)), wanted)
    close(similarity(padded(queries), padded(documents), a_mask=asked, b_mask=marked), wanted)
    close(similarity(queries, documents, a_mask=asked, b_mask=list(marked.bool())), wanted)
    close(similarity(padded(queries).numpy(), padded(documents).numpy()), wanted)
    # The trap: rows of zeros that are taken for tokens are closer than many real ones.
    assert (similarity(queries, list(padded(documents))) > wanted + 0.01).any()


def test_one_query_may_come_without_a_list(encoder: Encoder, model: MultiVectorEncoder, weights: TokenWeights) -> None:
    similarity = WeightedMaxSim.of(encoder, ASKED[:1], weights)
    query, document = model.encode_query(ASKED[0]), model.encode_document(TEXTS[0])
    wanted = expected(encoder, weights, "l2")[:1, :1]
    close(similarity(query, document), wanted)
    close(similarity(query, document, a_mask=torch.ones(len(query)), b_mask=torch.ones(len(document))), wanted)


def test_halves_are_scored_in_32_bits(encoder: Encoder, model: MultiVectorEncoder, weights: TokenWeights) -> None:
    similarity = WeightedMaxSim.of(encoder, ASKED, weights)
    short = [document.bfloat16() for document in model.encode_document(TEXTS)]
    wanted = similarity(model.encode_query(ASKED), [document.float() for document in short])
    close(similarity(model.encode_query(ASKED), short), wanted)


def test_a_document_without_tokens_never_wins(
    encoder: Encoder, model: MultiVectorEncoder, weights: TokenWeights
) -> None:
    similarity = WeightedMaxSim.of(encoder, ASKED, weights)
    documents = [torch.empty(0, encoder.dimensions), *model.encode_document(TEXTS)]
    found = similarity(model.encode_query(ASKED), documents)
    assert (found[:, 0] == 0).all()
    assert (found[:, 1:] > 0).all()


def test_no_documents_have_no_scores(encoder: Encoder, model: MultiVectorEncoder, weights: TokenWeights) -> None:
    assert WeightedMaxSim.of(encoder, ASKED, weights)(model.encode_query(ASKED), []).shape == (len(ASKED), 0)
    assert WeightedMaxSim([])([], model.encode_document(TEXTS)).shape == (0, len(TEXTS))
    assert weighted_queries(encoder, [], weights) == []


def test_weights_of_other_queries_are_refused(
    encoder: Encoder, model: MultiVectorEncoder, weights: TokenWeights
) -> None:
    similarity = WeightedMaxSim.of(encoder, ASKED, weights)
    with pytest.raises(InputError, match="the weights of 4 queries, but got 1; make one for these texts"):
        similarity(model.encode_query(ASKED[:1]), model.encode_document(TEXTS))
    with pytest.raises(InputError, match="expected 12 weights, one per query token"):
        WeightedMaxSim([np.ones(3, np.float32)])(model.encode_query(ASKED[:1]), model.encode_document(TEXTS))


def test_weights_for_the_other_form_are_refused(encoder: Encoder) -> None:
    learnt = TokenWeights(np.ones(len(encoder.vocabulary), np.float32), encoder.vocabulary, {"form": "l2"})
    with pytest.raises(InputError, match="learnt for the form 'l2', not 'cosine'"):
        weighted_queries(encoder, ASKED, learnt)
    with pytest.raises(InputError, match="learnt for the form 'l2', not 'cosine'"):
        WeightedMaxSim.of(encoder, ASKED, learnt, form="cosine")


@pytest.mark.parametrize("form", ["l2", "cosine"])
def test_its_evaluator_measures_it(
    model: MultiVectorEncoder, encoder: Encoder, weights: TokenWeights, form: Form
) -> None:
    relevant: dict[str, set[str]] = {}
    for query, document, _ in JUDGEMENTS:
        relevant.setdefault(query, set()).add(document)
    evaluator = MultiVectorInformationRetrievalEvaluator(
        {**QUERIES},
        {**DOCUMENTS},
        relevant,
        corpus_chunk_size=2,
        mrr_at_k=[5],
        write_csv=False,
        score_functions={"weighted": WeightedMaxSim.of(encoder, ASKED, weights, form=form)},
    )
    first = []
    for identifier, query in QUERIES.items():
        ids = rerank(query, DOCUMENTS, encoder=encoder, weights=weights, form=form).document_ids
        first.append(next(1 / rank for rank, key in enumerate(ids, start=1) if key in relevant[identifier]))
    assert evaluator(model)["weighted_mrr@5"] == pytest.approx(np.mean(first))


def test_zero_rows_are_closer_than_real_tokens_below_a_cosine_of_one_half() -> None:
    token = np.array([[1.0, 0.0]], np.float32)
    real = torch.tensor([[0.4, 0.84**0.5]])
    similarity = WeightedMaxSim([np.ones(1, np.float32)])
    filled = similarity([token], [torch.cat([real, torch.zeros(1, 2)])])
    assert filled.item() == pytest.approx(1 - 0.5**0.5)
    assert filled.item() > similarity([token], [real]).item()
    assert similarity([token], torch.cat([real, torch.zeros(1, 2)])[None]).item() < filled.item()


@pytest.mark.parametrize("form", ["l2", "cosine"])
def test_queries_are_adapted_and_a_mix_is_left_out_with_a_warning(
    model: MultiVectorEncoder, encoder: Encoder, form: Form
) -> None:
    weights = mixed(encoder)
    wanted = expected(encoder, weights.with_mix(NOTHING), form)
    with pytest.warns(InputWarning, match="by tokens alone"):
        similarity = WeightedMaxSim.of(encoder, ASKED, weights, form=form)
    close(similarity(model.encode_query(ASKED), model.encode_document(TEXTS)), wanted)
    if form == "cosine":
        with pytest.warns(InputWarning, match="by tokens alone"):
            queries = weighted_queries(encoder, ASKED, weights)
        close(maxsim(queries, model.encode_document(TEXTS)) / total_weights(encoder, weights), wanted)
