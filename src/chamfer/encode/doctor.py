"""Checks of a checkpoint: what it is, how closely it follows Stanford's recipe, and common mistakes."""

import itertools
import string
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from sentence_transformers.base.modules import Dense

from chamfer.encode.encoder import Encoder
from chamfer.encode.fingerprints import UNUSED
from chamfer.encode.library_model import module_of
from chamfer.encode.settings import Role
from chamfer.errors import InputError
from chamfer.tokens.batch import TokenBatch

Level = Literal["fine", "differs", "wrong"]
QUERY = "dog"
SHORT, LONG = (
    "the dog barks.",
    "a cat, a dog and a bird sat on the mat in the sun all day, and none of them made a sound.",
)
# Name of the projection in Stanford's checkpoints.
PROJECTION = "linear.weight"
STANFORD_DIMENSIONS, STANFORD_LENGTHS = 128, (32, 180)
# Largest difference between the vectors of a text alone and in a batch, where float32 sums are in another order.
SAME = 1e-4


class Finding(NamedTuple):
    """Result of one check: as in Stanford's recipe, different on purpose, or wrong."""

    level: Level
    what: str
    says: str


class Diagnosis(NamedTuple):
    """Facts about a checkpoint, and the result of each check."""

    facts: dict[str, Any]
    findings: list[Finding]

    @property
    def healthy(self) -> bool:
        """Whether no check found a mistake."""
        return all(finding.level != "wrong" for finding in self.findings)


def diagnose(name_or_path: str) -> Diagnosis:
    """Load a checkpoint, run it, and compare it with Stanford's ColBERT recipe.

    Args:
        name_or_path: a model hub name, a folder, or ``"minilm"``.

    >>> diagnosis = diagnose("minilm")
    >>> diagnosis.healthy, diagnosis.facts["dimensions"]
    (True, 384)
    """
    try:
        encoder = Encoder.load(name_or_path, device="cpu")
    except InputError as error:
        if isinstance(error.__cause__, KeyError) and PROJECTION in str(error.__cause__):
            return Diagnosis({}, [Finding("wrong", "projection", f"the checkpoint has no {PROJECTION}")])
        raise
    basic = [*_parameters(encoder), *_tokenizer(encoder)]
    try:
        checks = (_projection, _lengths, _markers, _masks, _skip_list, _norms, _padding)
        findings = [finding for check in checks for finding in check(encoder)]
    except InputError as error:  # the model cannot run
        findings = [Finding("wrong", "vectors", str(error))]
    return Diagnosis(facts(encoder), [*basic, *findings])


def facts(encoder: Encoder) -> dict[str, Any]:
    """Facts about a checkpoint, by name."""
    model = module_of(encoder._model)
    transformer: Any = model[0]
    expansion = transformer.query_expansion
    dense = [module for module in model if isinstance(module, Dense)]
    return {
        "kind": "late interaction" if encoder.late_interaction else "plain encoder, whose token states are used",
        "architecture": ", ".join(transformer.config.architectures or ["unknown"]),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "dimensions": encoder.dimensions,
        "projection": f"{dense[0].in_features} to {dense[0].out_features}" if dense else "none",
        "query_marker": encoder.prompt("query").strip() or "none",
        "document_marker": encoder.prompt("document").strip() or "none",
        "query_length": encoder.query_length,
        "document_length": encoder.document_length,
        "queries_are_filled": "no"
        if expansion is None
        else f"to {expansion['length']} tokens, {'attended to' if expansion['attend'] else 'not attended to'}",
        "skip_list": len(_skipped(encoder)),
        "vocabulary": len(encoder.vocabulary),
        "tokenizer": encoder.vocabulary.fingerprint,
        "model": encoder.model_fingerprint,
    }


def _parameters(encoder: Encoder) -> Iterator[Finding]:
    """Parameters that a checkpoint lacks are random and differ from load to load, or are all ones or zeros."""
    first, second = (
        module_of(model._model).state_dict() for model in (encoder, Encoder.load(encoder.name, device="cpu"))
    )
    used = {name: tensor for name, tensor in first.items() if UNUSED not in name and tensor.is_floating_point()}
    random = [name for name, tensor in used.items() if not torch.equal(tensor, second[name])]
    constant = [
        name for name, tensor in used.items() if tensor.numel() > 1 and bool((tensor == tensor.flatten()[0]).all())
    ]
    if random:
        says = f"{_some(random)} differ from load to load: the checkpoint lacks them, so they are random"
        yield Finding("wrong", "parameters", says)
    elif constant:
        says = f"all values are equal in {_some(constant)}: the checkpoint may lack them"
        yield Finding("differs", "parameters", says)
    else:
        yield Finding("fine", "parameters", "the same on every load, and none looks untrained")


def _tokenizer(encoder: Encoder) -> Iterator[Finding]:
    """A tokenizer without its vocabulary knows only special tokens, so every word is unknown."""
    read = encoder.tokenize([LONG], "document").token_ids[0]
    unknown = module_of(encoder._model).tokenizer.unk_token_id
    words = [token for token in read.tolist() if token not in encoder.vocabulary.special_ids]
    share = sum(token == unknown for token in words) / len(words) if words else 1.0
    if share > 0.5:
        says = f"{share:.0%} of an English sentence is unknown: the vocabulary is missing or belongs to another model"
        yield Finding("wrong", "tokenizer", says)
    else:
        yield Finding("fine", "tokenizer", f"{len(encoder.vocabulary)} tokens, common English words among them")


def _projection(encoder: Encoder) -> Iterator[Finding]:
    if any(isinstance(module, Dense) for module in module_of(encoder._model)):
        level: Level = "fine" if encoder.dimensions == STANFORD_DIMENSIONS else "differs"
        says = f"vectors have {encoder.dimensions} dimensions; Stanford's have {STANFORD_DIMENSIONS}"
        yield Finding(level, "projection", says)
    elif encoder.late_interaction:
        says = f"a late-interaction model without a projection: vectors have all {encoder.dimensions} dimensions"
        yield Finding("wrong", "projection", says)
    else:
        yield Finding(
            "differs",
            "projection",
            "none, because this is a plain encoder; its token states were not trained to be compared",
        )


def _markers(encoder: Encoder) -> Iterator[Finding]:
    roles: tuple[Role, Role] = ("query", "document")
    prompts = {role: encoder.prompt(role).strip() for role in roles}
    if not any(prompts.values()):
        level: Level = "wrong" if encoder.late_interaction and encoder.fills_queries else "differs"
        yield Finding(level, "markers", "queries and documents have no marker; Stanford's begin with one token each")
        return
    for role, prompt in prompts.items():
        ids = module_of(encoder._model).tokenizer(encoder.prompt(role), add_special_tokens=False)["input_ids"]
        if prompt and len(ids) != 1:
            tokens = " ".join(encoder.vocabulary.tokens[index] for index in ids)
            level = "wrong" if len(prompt.split()) == 1 else "differs"
            yield Finding(level, "markers", f"the {role} marker {prompt!r} is {len(ids)} tokens: {tokens}")
            return
    if prompts["query"] == prompts["document"]:
        yield Finding("wrong", "markers", f"queries and documents have the same marker, {prompts['query']!r}")
    else:
        yield Finding("fine", "markers", f"{prompts['query'] or 'none'} and {prompts['document'] or 'none'}")


def _masks(encoder: Encoder) -> Iterator[Finding]:
    """Masks are scored but not attended to, so the vectors of words do not depend on the number of masks."""
    if not encoder.fills_queries:
        yield Finding("differs", "masks", "queries are not filled with [MASK]; Stanford's are")
        return
    length = encoder.query_length
    another = length + 1 if length < encoder.most_tokens else length - 1
    words = len(encoder.tokenize([QUERY], "query").token_ids[0])
    one, other = (
        model.encode_queries([QUERY]).vectors
        for model in (encoder, Encoder.load(encoder.name, query_length=another, device="cpu"))
    )
    moved = float(np.abs(one[:words] - other[:words]).max(initial=0.0))
    if moved > SAME:
        yield Finding("wrong", "masks", f"words attend to [MASK]: filling a query changes their vectors by {moved:.3f}")
    elif len(one) != length:
        yield Finding(
            "wrong", "masks", f"a filled query has {len(one)} vectors instead of {length}: masks are not scored"
        )
    else:
        yield Finding("fine", "masks", f"queries are filled to {length} tokens; masks are scored and not attended to")


def _lengths(encoder: Encoder) -> Iterator[Finding]:
    lengths = encoder.query_length, encoder.document_length
    level: Level = "fine" if lengths == STANFORD_LENGTHS else "differs"
    says = "queries have up to {} tokens and documents up to {}; Stanford's have {} and {}".format(
        *lengths, *STANFORD_LENGTHS
    )
    yield Finding(level, "lengths", says)


def _skip_list(encoder: Encoder) -> Iterator[Finding]:
    skipped = _skipped(encoder)
    if skipped and set(skipped) != set(string.punctuation):
        says = f"not the same as punctuation: {' '.join(sorted(set(skipped) ^ set(string.punctuation))[:12])}"
        yield Finding("differs", "skip list", says)
    elif skipped:
        yield Finding(
            "fine", "skip list", f"{len(skipped)} tokens have no vector in documents: {' '.join(skipped[:12])} ..."
        )
    else:
        yield Finding("differs", "skip list", "documents keep their punctuation; Stanford's drop it")


def _norms(encoder: Encoder) -> Iterator[Finding]:
    lengths = np.linalg.norm(encoder.encode_documents([SHORT, LONG]).vectors, axis=1)
    low, high = float(lengths.min()), float(lengths.max())
    if max(abs(low - 1), abs(high - 1)) > 0.001:
        yield Finding("wrong", "unit vectors", f"vectors have norms from {low:.2f} to {high:.2f}, not 1")
    else:
        yield Finding("fine", "unit vectors", "all vectors have norm 1")


def _padding(encoder: Encoder) -> Iterator[Finding]:
    for encode, place in itertools.product((encoder.encode_documents, encoder.encode_queries), (0, 1)):
        beside, alone = encode([SHORT, LONG])[place], encode([(SHORT, LONG)[place]])
        if len(beside.vectors) != len(alone.vectors) or _moved(beside, alone) > SAME:
            yield Finding(
                "wrong",
                "padding",
                "a text has different vectors in a batch with a longer one: padding is scored or attended to",
            )
            return
    yield Finding("fine", "padding", "a text has the same vectors alone and in a batch with a longer one")


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _moved(one: TokenBatch, other: TokenBatch) -> float:
    return float(np.abs(one.vectors - other.vectors).max(initial=0.0))


def _skipped(encoder: Encoder) -> list[str]:
    return [word for module in module_of(encoder._model) for word in getattr(module, "skiplist_words", None) or []]
