"""From a transformer of torch to a graph that OpenVINO runs, checked against the original."""

import inspect
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from sentence_transformers.base.modules import Normalize
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from tokenizers import Tokenizer

from chamfer.encode.checkpoint import quiet_libraries
from chamfer.encode.compiled_model import INPUTS, CompiledModel, Description
from chamfer.encode.copies import write_copy
from chamfer.encode.library_model import LibraryModel
from chamfer.encode.model import Model
from chamfer.encode.openvino import Runner, check_openvino, without_telemetry
from chamfer.encode.settings import Arithmetic, Role
from chamfer.errors import InputError, first_line

Inputs = Mapping[str, torch.Tensor]

# Lowest cosine allowed between the states of a token from torch and from OpenVINO. In 16 bits it is above 0.999; for a
# transformer that was traced wrongly it is far lower.
MIN_COSINE = 0.98

# Texts of several lengths, on which a compiled model is compared with the library's.
TEXTS = ("word", "Two, three words!", "Naïve café № 5 — \u6771\u4eac")

# Lowest cosine allowed between the vectors of a token from these two: OpenVINO runs the same graph for both.
SAME = 0.9999


def run_with_openvino(model: LibraryModel, arithmetic: Arithmetic, copy: Path | None) -> Model:
    """The same model with a transformer that OpenVINO runs; without torch, if it is a plain encoder.

    Args:
        model: the model, on the CPU.
        arithmetic: number format to compute in.
        copy: where to keep what was compiled; None to keep nothing.
    """
    transformer = traced(model, arithmetic)
    description = description_of(model, transformer.names)
    model.replace_transformer(transformer, arithmetic)
    if description is None:
        return model
    tokenizer = Tokenizer.from_str(model.module.tokenizer.backend_tokenizer.to_str())
    compiled = CompiledModel(tokenizer, transformer.runner, description, model.lengths, arithmetic)
    if not agree(compiled, model):
        return model
    graph, transformer.graph = transformer.graph, None
    if copy is not None and graph is not None:
        write_copy(copy, graph, tokenizer, description)
    return compiled


def description_of(model: LibraryModel, inputs: list[str]) -> Description | None:
    """What a model without torch must know of a plain encoder; None for anything else."""
    transformer, *others = model.module
    tokenizer: Any = model.module.tokenizer
    kinds = [type(module) for module in others]
    is_plain = (
        not model.late_interaction
        and kinds == [MultiVectorMask, Normalize]
        and not others[0].skiplist_words
        and not others[0].keep_only_token_ids
        and transformer.query_expansion is None
        and set(inputs) <= INPUTS.keys()
        and (tokenizer.padding_side, tokenizer.truncation_side) == ("right", "right")
    )
    if not is_plain:
        return None
    return Description(
        parameters=model.parameters,
        dimensions=model.dimensions,
        lengths=model.own_lengths,
        checked=model.lengths.compared,
        query_prompt=model.prompts["query"],
        document_prompt=model.prompts["document"],
        special_ids=tuple(sorted(model.vocabulary.special_ids)),
        padding_id=tokenizer.pad_token_id or 0,
        inputs=tuple(inputs),
        settings={name: value for name, value in model.settings("document").items() if name != "tokenizer"},
    )


def longest_text(model: Model) -> str:
    """A text as long as a model reads any, or long enough to compare on."""
    return "word " * model.lengths.compared


def agree(compiled: Model, model: Model) -> bool:
    """Whether two models read the same tokens in texts, and give them the same vectors."""
    texts = [*TEXTS, longest_text(model)]
    for role in get_args(Role):
        one, other = compiled.tokenize(texts, role), model.tokenize(texts, role)
        rows = range(len(texts))
        first, second = compiled.run(one.inputs, rows, role), model.run(other.inputs, rows, role)
        if (
            one.was_truncated != other.was_truncated
            or first.token_ids.tolist() != second.token_ids.tolist()
            or np.einsum("td,td->t", first.vectors, second.vectors).min() < SAME
        ):
            return False
    return True


class Traced(torch.nn.Module):
    """A drop-in replacement for a transformer inside a model of sentence-transformers. Threads may share it.

    Args:
        model: the model, on the CPU.
        arithmetic: number format to compute in.
    """

    def __init__(self, model: LibraryModel, arithmetic: Arithmetic) -> None:
        super().__init__()
        original = model.transformer.auto_model
        role: Role = "query" if model.lengths.query > model.lengths.document else "document"
        example, check = (
            model.tokenize(texts, role).inputs
            for texts in (["a text", "another text"], ["one", "two, three", longest_text(model)])
        )
        self.config = original.config
        self.names = [name for name in inspect.signature(original.forward).parameters if name in example]
        try:
            self.graph: Any = trace(_States(original, self.names), tuple(example[name] for name in self.names))
            self.runner = Runner(self.graph, arithmetic)
            found = self(**check)["last_hidden_state"]
        # Tracing an unusual model fails in more ways than a list of exceptions could cover.
        except Exception as error:
            raise InputError(f"OpenVINO cannot run this model ({first_line(error)}); use the engine 'torch'") from error
        expected = original(**{name: check[name] for name in self.names}).last_hidden_state
        cosines = torch.nn.functional.cosine_similarity(found, expected, dim=-1)[check["attention_mask"].bool()]
        if not bool((cosines > MIN_COSINE).all()):
            raise InputError("OpenVINO and torch disagree on the token states of this model; use the engine 'torch'")

    def forward(self, **inputs: Any) -> dict[str, torch.Tensor]:  # noqa: ANN401 -- what the transformer takes
        """Token states, under the name that transformers uses."""
        states = self.runner([inputs[name].numpy() for name in self.names])
        return {"last_hidden_state": torch.from_numpy(np.asarray(states))}


def traced(model: LibraryModel, arithmetic: Arithmetic) -> Traced:
    """Trace and compile the transformer of a model. The last one is kept, because this takes seconds."""
    check_openvino()
    settings = model.transformer.auto_model.config.to_json_string()
    key = (model.parameters, settings, model.lengths.compared, arithmetic, torch.get_num_threads())
    if key not in _last:
        compiled = Traced(model, arithmetic)
        _last.clear()
        _last[key] = compiled
    return _last[key]


_last: dict[tuple[object, ...], Traced] = {}


def trace(model: torch.nn.Module, example: tuple[torch.Tensor, ...]) -> Any:  # noqa: ANN401 -- OpenVINO is not typed
    """The operations of a model on examples of its inputs, as a graph of OpenVINO."""
    with without_telemetry():
        from openvino.frontend import FrontEndManager
        from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder

    with quiet_libraries(), warnings.catch_warnings(), torch.inference_mode(False), torch.no_grad():
        warnings.simplefilter("ignore")  # the tracer warns about every branch; the check decides
        decoder = TorchScriptPythonDecoder(model, example_input=example)
        frontend = FrontEndManager().load_by_framework("pytorch")
        return frontend.convert(frontend.load(decoder))


class _States(torch.nn.Module):
    """The last hidden states of a transformer, from inputs in a fixed order, as tracing requires."""

    def __init__(self, model: torch.nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.model(**dict(zip(self.names, inputs, strict=True))).last_hidden_state
        return states
