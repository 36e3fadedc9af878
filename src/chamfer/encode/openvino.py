"""Running a transformer on the CPU with OpenVINO. The only file that knows OpenVINO."""

import importlib.util
import inspect
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from sentence_transformers import MultiVectorEncoder

from chamfer.encode.checkpoint import quiet_libraries
from chamfer.encode.forks import Process
from chamfer.encode.tokenizing import ModelTokenizer
from chamfer.errors import InputError, first_line

Inputs = Mapping[str, torch.Tensor]

# Lowest cosine allowed between the states of a token from torch and from OpenVINO. In 16 bits it is above 0.999; for a
# transformer that was traced wrongly it is far lower.
MIN_COSINE = 0.98
TELEMETRY = "openvino_telemetry"


def has_openvino() -> bool:
    """Whether the extra ``chamfer[openvino]`` is installed."""
    return importlib.util.find_spec("openvino") is not None


def run_with_openvino(
    model: MultiVectorEncoder, tokenizer: ModelTokenizer, *, parameters: str, bfloat16: bool, required: bool
) -> bool:
    """Replace the transformer of a model with one that OpenVINO runs; returns whether that worked.

    Compiling takes seconds, so the transformer that was compiled last is used again for the same model.

    Args:
        model: model on the CPU.
        tokenizer: its tokenizer.
        parameters: digest of its parameters.
        bfloat16: whether to compute in 16 bits.
        required: whether a transformer that OpenVINO cannot run is an error.
    """
    transformer: Any = model[0]
    limit = tokenizer.limit("document")
    key = (parameters, transformer.auto_model.config.to_json_string(), limit, bfloat16, torch.get_num_threads())
    try:
        if not has_openvino():
            raise InputError("the engine 'openvino' is not installed; run: pip install 'chamfer[openvino]'")
        _first_use().check("OpenVINO")
        if key not in _last:
            example, check = (
                tokenizer.tokenize(texts, "document").inputs
                for texts in (["a text", "another text"], ["one", "two, three", "word " * limit])
            )
            compiled = Compiled(transformer.auto_model, example, check, bfloat16=bfloat16)
            _last.clear()
            _last[key] = compiled
        transformer.model = _last[key]
    except InputError:
        if required:
            raise
        return False
    return True


class Compiled(torch.nn.Module):
    """A drop-in replacement for a transformer inside a model of sentence-transformers. Threads may share it.

    Args:
        model: the transformer.
        example: inputs of several texts, to trace its operations with.
        check: inputs of another shape, with padding, on which both must agree.
        bfloat16: whether to compute in 16 bits.
    """

    def __init__(self, model: Any, example: Inputs, check: Inputs, *, bfloat16: bool) -> None:  # noqa: ANN401
        super().__init__()
        self.config = model.config
        self._names = [name for name in inspect.signature(model.forward).parameters if name in example]
        self._threads = threading.local()
        try:
            self._compiled = self._compile(_States(model, self._names), example, bfloat16=bfloat16)
            found = self(**check)["last_hidden_state"]
        # Tracing an unusual model fails in more ways than a list of exceptions could cover.
        except Exception as error:
            raise InputError(f"OpenVINO cannot run this model ({first_line(error)}); use the engine 'torch'") from error
        expected = model(**{name: check[name] for name in self._names}).last_hidden_state
        cosines = torch.nn.functional.cosine_similarity(found, expected, dim=-1)[check["attention_mask"].bool()]
        if not bool((cosines > MIN_COSINE).all()):
            raise InputError("OpenVINO and torch disagree on the token states of this model; use the engine 'torch'")

    def forward(self, **inputs: Any) -> dict[str, torch.Tensor]:  # noqa: ANN401 -- what the transformer takes
        """Token states, under the name that transformers uses."""
        if not hasattr(self._threads, "request"):
            self._threads.request = self._compiled.create_infer_request()
        arrays = [inputs[name].numpy() for name in self._names]
        return {"last_hidden_state": torch.from_numpy(self._threads.request.infer(arrays, share_inputs=True)[0])}

    def _compile(self, model: torch.nn.Module, example: Inputs, *, bfloat16: bool) -> Any:  # noqa: ANN401
        with _without_telemetry():
            import openvino
            from openvino.frontend import FrontEndManager
            from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder

        with quiet_libraries(), warnings.catch_warnings(), torch.inference_mode(False), torch.no_grad():
            warnings.simplefilter("ignore")  # the tracer warns about every branch; the check decides
            decoder = TorchScriptPythonDecoder(model, example_input=tuple(example[name] for name in self._names))
            frontend = FrontEndManager().load_by_framework("pytorch")
            graph = frontend.convert(frontend.load(decoder))
        return openvino.Core().compile_model(
            graph,
            "CPU",
            {
                "PERFORMANCE_HINT": "THROUGHPUT",  # several batches at once, on about one core each
                "INFERENCE_PRECISION_HINT": "bf16" if bfloat16 else "f32",
                "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            },
        )


_last: dict[tuple[object, ...], Compiled] = {}


@cache
def _first_use() -> Process:
    return Process()


@contextmanager
def _without_telemetry() -> Iterator[None]:
    """Hide the package that OpenVINO uses to report every import to a server."""
    before = sys.modules.get(TELEMETRY)
    sys.modules[TELEMETRY] = None  # type: ignore[assignment]  # makes the import fail
    try:
        yield
    finally:
        del sys.modules[TELEMETRY]
        if before is not None:
            sys.modules[TELEMETRY] = before


class _States(torch.nn.Module):
    """The last hidden states of a transformer, from inputs in a fixed order, as tracing requires."""

    def __init__(self, model: torch.nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.model(**dict(zip(self.names, inputs, strict=True))).last_hidden_state
        return states
