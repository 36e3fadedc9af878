"""Tiny random checkpoints in the layouts that people publish, and the published forward by hand."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import save_file
from transformers import BertTokenizer, PreTrainedTokenizerFast

Array = npt.NDArray[np.float64]

WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "dog",
    "barks",
    "at",
    "night",
    "why",
    "do",
    "cats",
    "sleep",
    "all",
    "day",
    "is",
    "blue",
    "sky",
    "and",
    "it",
]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
TOKENS = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "##s", *PUNCTUATION]
ID = {token: index for index, token in enumerate(TOKENS)}

HIDDEN, HEADS, LAYERS, INNER, POSITIONS, PROJECTED = 16, 2, 2, 24, 64, 8


def random_bert(seed: int, vocabulary_size: int) -> dict[str, npt.NDArray[np.float32]]:
    """The parameters of a small BERT, large enough that every token and position changes the output."""
    generator = np.random.default_rng(seed)

    def draw(*shape: int) -> npt.NDArray[np.float32]:
        return generator.normal(0, 0.4, shape).astype(np.float32)

    parameters = {
        "embeddings.word_embeddings.weight": draw(vocabulary_size, HIDDEN),
        "embeddings.position_embeddings.weight": draw(POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": draw(2, HIDDEN),
        "embeddings.LayerNorm.weight": 1 + draw(HIDDEN),
        "embeddings.LayerNorm.bias": draw(HIDDEN),
    }
    for layer in range(LAYERS):
        shapes = {
            "attention.self.query": (HIDDEN, HIDDEN),
            "attention.self.key": (HIDDEN, HIDDEN),
            "attention.self.value": (HIDDEN, HIDDEN),
            "attention.output.dense": (HIDDEN, HIDDEN),
            "intermediate.dense": (INNER, HIDDEN),
            "output.dense": (HIDDEN, INNER),
        }
        for name, (rows, columns) in shapes.items():
            parameters[f"encoder.layer.{layer}.{name}.weight"] = draw(rows, columns)
            parameters[f"encoder.layer.{layer}.{name}.bias"] = draw(rows)
        for name in ("attention.output", "output"):
            parameters[f"encoder.layer.{layer}.{name}.LayerNorm.weight"] = 1 + draw(HIDDEN)
            parameters[f"encoder.layer.{layer}.{name}.LayerNorm.bias"] = draw(HIDDEN)
    return parameters


def forward(parameters: dict[str, npt.NDArray[np.float32]], ids: list[int], attended: list[bool]) -> Array:
    """BERT's last hidden states for one text, from its paper; keys that are not attended get no share."""
    p = {name: value.astype(np.float64) for name, value in parameters.items()}

    def linear(x: Array, name: str) -> Array:
        result: Array = x @ p[f"{name}.weight"].T + p[f"{name}.bias"]
        return result

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        scaled: Array = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * p[f"{name}.weight"] + p[f"{name}.bias"]

    x = (
        p["embeddings.word_embeddings.weight"][ids]
        + p["embeddings.position_embeddings.weight"][: len(ids)]
        + p["embeddings.token_type_embeddings.weight"][0]
    )
    x = norm(x, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        query, key, value = (linear(x, f"{at}.attention.self.{name}") for name in ("query", "key", "value"))
        mixed = np.empty_like(x)
        for head in np.split(np.arange(HIDDEN), HEADS):
            scores = query[:, head] @ key[:, head].T / math.sqrt(HIDDEN // HEADS)
            shares = np.exp(scores) * np.asarray(attended)
            mixed[:, head] = shares / shares.sum(-1, keepdims=True) @ value[:, head]
        x = norm(x + linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        inner = linear(x, f"{at}.intermediate.dense")
        gelu = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(x + linear(gelu, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    return x


def unit(x: Array) -> Array:
    result: Array = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return result


def bert_config(vocabulary_size: int, architecture: str) -> dict[str, Any]:
    return {
        "architectures": [architecture],
        "model_type": "bert",
        "vocab_size": vocabulary_size,
        "hidden_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "intermediate_size": INNER,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }


def write_tokenizer(folder: Path, extra: list[str] | None = None, *, lowercase: bool = True) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    tokenizer = BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=lowercase, model_max_length=POSITIONS)
    if extra:
        tokenizer.add_tokens(extra)
    tokenizer.save_pretrained(folder)


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def make_stanford(folder: Path, *, query_length: int = 12, document_length: int = 14) -> dict[str, Any]:
    """A checkpoint as colbert-ir publishes them: everything in one file, settings in artifact.metadata."""
    write_tokenizer(folder)
    bert = random_bert(1, len(TOKENS))
    projection = np.random.default_rng(2).normal(0, 0.4, (PROJECTED, HIDDEN)).astype(np.float32)
    save_file(
        {**{f"bert.{name}": value for name, value in bert.items()}, "linear.weight": projection},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    write_json(folder / "config.json", bert_config(len(TOKENS), "HF_ColBERT"))
    write_json(
        folder / "artifact.metadata",
        {
            "query_token_id": "[unused0]",
            "doc_token_id": "[unused1]",
            "query_token": "[Q]",
            "doc_token": "[D]",
            "query_maxlen": query_length,
            "doc_maxlen": document_length,
            "attend_to_mask_tokens": False,
            "mask_punctuation": True,
            "dim": PROJECTED,
            "similarity": "cosine",
        },
    )
    return {"bert": bert, "projection": projection}


def make_pylate(folder: Path, *, query_length: int = 10, document_length: int = 16) -> dict[str, Any]:
    """A checkpoint as PyLate saves them: a module list, the projection in 1_Dense, markers as added tokens."""
    write_tokenizer(folder, extra=["[Q] ", "[D] "])
    size = len(TOKENS) + 2
    bert = random_bert(3, size)
    projection = np.random.default_rng(4).normal(0, 0.4, (PROJECTED, HIDDEN)).astype(np.float32)
    save_file(bert, folder / "model.safetensors", metadata={"format": "pt"})
    write_json(folder / "config.json", bert_config(size, "BertModel"))
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": document_length - 1, "do_lower_case": False})
    write_json(
        folder / "modules.json",
        [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
        ],
    )
    write_json(
        folder / "1_Dense" / "config.json",
        {
            "in_features": HIDDEN,
            "out_features": PROJECTED,
            "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity",
        },
    )
    save_file({"linear.weight": projection}, folder / "1_Dense" / "model.safetensors")
    write_json(
        folder / "config_sentence_transformers.json",
        {
            "model_type": "ColBERT",
            "prompts": {},
            "default_prompt_name": None,
            "similarity_fn_name": "MaxSim",
            "query_prefix": "[Q] ",
            "document_prefix": "[D] ",
            "query_length": query_length,
            "document_length": document_length,
            "attend_to_expansion_tokens": False,
            "skiplist_words": PUNCTUATION,
        },
    )
    return {"bert": bert, "projection": projection}


def make_plain(folder: Path, *, lowercase: bool = True, seed: int = 5) -> dict[str, Any]:
    """A plain encoder, as sentence-transformers publishes them: a transformer, pooling, no projection."""
    write_tokenizer(folder, lowercase=lowercase)
    bert = random_bert(seed, len(TOKENS))
    save_file(bert, folder / "model.safetensors", metadata={"format": "pt"})
    write_json(folder / "config.json", bert_config(len(TOKENS), "BertModel"))
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": POSITIONS, "do_lower_case": False})
    write_json(
        folder / "modules.json",
        [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ],
    )
    write_json(
        folder / "1_Pooling" / "config.json", {"word_embedding_dimension": HIDDEN, "pooling_mode_mean_tokens": True}
    )
    return {"bert": bert}


def add_sentence_head(folder: Path) -> None:
    """Give a plain encoder a Dense layer behind its pooling, as some published sentence encoders have."""
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    write_json(folder / "modules.json", modules)
    settings = {"in_features": HIDDEN, "out_features": PROJECTED, "bias": True, "activation_function": "torch.nn.Tanh"}
    write_json(folder / "2_Dense" / "config.json", settings)
    generator = np.random.default_rng(6)
    weights = {
        "linear.weight": generator.normal(size=(PROJECTED, HIDDEN)),
        "linear.bias": generator.normal(size=PROJECTED),
    }
    save_file(
        {name: value.astype(np.float32) for name, value in weights.items()}, folder / "2_Dense" / "model.safetensors"
    )


def count_tokenized(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows by every text that a tokenizer is given from now on."""
    seen: list[str] = []
    encode = PreTrainedTokenizerFast._encode_plus

    def counted(self: Any, text: str | list[str], *given: Any, **options: Any) -> Any:
        seen.extend([text] if isinstance(text, str) else text)
        return encode(self, text, *given, **options)

    monkeypatch.setattr(PreTrainedTokenizerFast, "_encode_plus", counted)
    return seen
