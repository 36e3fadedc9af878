"""What the server tells Prometheus."""

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """Counters of one server; a registry of its own, so that two servers in one process do not mix."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self.requests = Counter(
            "chamfer_requests", "Requests that were answered.", ["path", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "chamfer_request_seconds",
            "From the last byte of a request to its answer.",
            ["path"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self.running = Gauge("chamfer_running", "Requests that are being answered.", registry=self._registry)
        self.batches = Histogram(
            "chamfer_batch_size", "Searches that were worked on together.", buckets=SIZES, registry=self._registry
        )

    def follow(self, name: str, help_text: str, value: Callable[[], float]) -> None:
        """Add a number that is asked for when metrics are read."""
        Gauge(name, help_text, registry=self._registry).set_function(value)

    def text(self) -> bytes:
        """All metrics in Prometheus' format."""
        return generate_latest(self._registry)
