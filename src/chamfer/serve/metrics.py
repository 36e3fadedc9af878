"""Metrics for Prometheus."""

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
    """Metrics of one server, in its own registry, so that two servers in one process do not mix."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self.requests = Counter("chamfer_requests", "Requests answered.", ["path", "status"], registry=self._registry)
        self.seconds = Histogram(
            "chamfer_request_seconds",
            "Seconds from the last byte of a request to its answer.",
            ["path"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self.running = Gauge("chamfer_running", "Requests being answered.", registry=self._registry)
        self.batches = Histogram("chamfer_batch_size", "Searches per batch.", buckets=SIZES, registry=self._registry)

    def follow(self, name: str, help_text: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is computed when metrics are read."""
        Gauge(name, help_text, registry=self._registry).set_function(value)

    def text(self) -> bytes:
        """All metrics in the Prometheus text format."""
        return generate_latest(self._registry)
