"""The model before training: all-MiniLM-L6-v2 with Stanford's markers, filling and skip list, and a projection."""

import string
from collections.abc import Sequence

import torch
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.model_card import MultiVectorEncoderModelCardData
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from transformers import AddedToken

from chamfer.encode.checkpoint_files import minilm_folder

# As in Stanford's checkpoints: tokens that the vocabulary has and no text contains.
MARKERS = {"query": "[unused0] ", "document": "[unused1] "}
DIMENSIONS, QUERY_LENGTH, DOCUMENT_LENGTH = 128, 32, 180


def untrained(queries: Sequence[str], documents: Sequence[str], device: str) -> MultiVectorEncoder:
    """A model whose vectors are those of all-MiniLM-L6-v2, reduced to 128 dimensions.

    Args:
        queries: a sample, for the directions that the projection keeps.
        documents: likewise.
        device: device of the model.
    """
    transformer = Transformer(
        str(minilm_folder()),
        document_length=DOCUMENT_LENGTH,
        query_expansion={"strategy": "fixed", "attend": False, "length": QUERY_LENGTH},
    )
    # The tokenizer would split the markers into brackets and words.
    markers = [AddedToken(marker.strip(), normalized=False, special=True) for marker in MARKERS.values()]
    transformer.tokenizer.add_special_tokens({"additional_special_tokens": markers})
    mask = MultiVectorMask(skiplist_words=list(string.punctuation))
    states = MultiVectorEncoder(modules=[transformer, mask], prompts=MARKERS, device=device)
    sample = torch.cat([*states.encode_query(queries), *states.encode_document(documents)])
    projection = Dense(
        transformer.get_embedding_dimension(),
        DIMENSIONS,
        bias=False,
        activation_function=torch.nn.Identity(),
        init_weight=principal_directions(sample, DIMENSIONS),
        module_input_name="token_embeddings",
    )
    return MultiVectorEncoder(
        modules=[transformer, projection, mask, Normalize(module_input_name="token_embeddings")],
        prompts=MARKERS,
        device=device,
        model_card_data=MultiVectorEncoderModelCardData(local_files_only=True, generate_widget_examples=False),
    )


def principal_directions(states: torch.Tensor, dimensions: int) -> torch.Tensor:
    """The directions in which unit vectors are longest, ``(dimensions, width)``, largest first.

    The mean is not subtracted: a projection without bias keeps cosines best this way.
    """
    unit = torch.nn.functional.normalize(states.float())
    directions: torch.Tensor = torch.linalg.eigh(unit.T @ unit).eigenvectors
    return directions.T.flip(0)[:dimensions].clone()  # a view would be saved with all rows
