"""A transformer that OpenVINO runs on the processor. The only file that knows OpenVINO."""

import importlib.util
import inspect
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from chamfer.encode.checkpoint import quiet_libraries, reason
from chamfer.errors import InputError

Inputs = Mapping[str, torch.Tensor]

# The least cosine between a token's states as torch and as OpenVINO compute them. In 16 bits it is above 0.999;
# a transformer that was not understood gives something else altogether.
AGREES = 0.98
TELEMETRY = "openvino_telemetry"


def has_openvino() -> bool:
    """Whether the extra ``chamfer[openvino]`` is installed."""
    return importlib.util.find_spec("openvino") is not None


class Compiled(torch.nn.Module):
    """Takes the place of a transformer inside a model of sentence-transformers; several threads may call it at once.

    Args:
        model: the transformer.
        example: inputs by which its operations are recorded, of several texts.
        check: other inputs, of other shape and with padding, on which both must agree.
        bfloat16: whether to calculate in 16 bits.
    """

    def __init__(self, model: Any, example: Inputs, check: Inputs, *, bfloat16: bool) -> None:  # noqa: ANN401
        super().__init__()
        if not has_openvino():
            raise InputError("the engine 'openvino' is not installed; run: pip install 'chamfer[openvino]'")
        self.config = model.config
        self._names = [name for name in inspect.signature(model.forward).parameters if name in example]
        self._threads = threading.local()
        try:
            self._compiled = self._compile(_States(model, self._names), example, bfloat16=bfloat16)
            found = self(**check)["last_hidden_state"]
        # What a tracer makes of an unusual model breaks in ways that no list of types would cover.
        except Exception as error:
            raise InputError(f"OpenVINO cannot run this model ({reason(error)}); use the engine 'torch'") from error
        expected = model(**{name: check[name] for name in self._names}).last_hidden_state
        cosines = torch.nn.functional.cosine_similarity(found, expected, dim=-1)[check["attention_mask"].bool()]
        if not bool((cosines > AGREES).all()):
            raise InputError("OpenVINO computes other states than torch for this model; use the engine 'torch'")

    def forward(self, **inputs: Any) -> dict[str, torch.Tensor]:  # noqa: ANN401 -- what the transformer takes
        """Token states, under the name that transformers give them."""
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
            warnings.simplefilter("ignore")  # the tracer warns of every branch; the check is what counts
            decoder = TorchScriptPythonDecoder(model, example_input=tuple(example[name] for name in self._names))
            frontend = FrontEndManager().load_by_framework("pytorch")
            graph = frontend.convert(frontend.load(decoder))
        return openvino.Core().compile_model(
            graph,
            "CPU",
            {
                "PERFORMANCE_HINT": "THROUGHPUT",  # a core or so for each of several batches, not all for one
                "INFERENCE_PRECISION_HINT": "bf16" if bfloat16 else "f32",
                "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            },
        )


@contextmanager
def _without_telemetry() -> Iterator[None]:
    """OpenVINO reports every import to a server, unless the package that does it is not there."""
    before = sys.modules.get(TELEMETRY)
    sys.modules[TELEMETRY] = None  # type: ignore[assignment]  # Python's way to say that it cannot be imported
    try:
        yield
    finally:
        del sys.modules[TELEMETRY]
        if before is not None:
            sys.modules[TELEMETRY] = before


class _States(torch.nn.Module):
    """Only the last states of a transformer, from inputs in a fixed order: what can be recorded."""

    def __init__(self, model: torch.nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.model(**dict(zip(self.names, inputs, strict=True))).last_hidden_state
        return states
