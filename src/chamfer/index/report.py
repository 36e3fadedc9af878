"""What building an index, or adding to it, did."""

from dataclasses import asdict, dataclass

from chamfer.support.notebook import table


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What :func:`chamfer.build_index` or :meth:`chamfer.Index.add` did.

    Args:
        documents: documents that were indexed, those of an interrupted run included.
        tokens: token vectors that are stored for them.
        truncated: documents of this run that were cut at the encoder's maximum length.
        unread: documents of this run whose words the encoder's tokenizer mostly does not know; a warning names one.
        skipped: documents that were skipped, because the index already held them unchanged.
        resumed: documents that an interrupted run had already indexed.
        replaced: documents that replaced others with the same ids.
        seconds: wall time of this run.
        passages: passages that the documents were split into, those of an interrupted run included; 0 without
            passages.

    >>> report = BuildReport(documents=3, tokens=41, truncated=1)
    >>> f"{report.truncated} of {report.documents} documents were truncated"
    '1 of 3 documents were truncated'
    """

    documents: int
    tokens: int
    truncated: int = 0
    skipped: int = 0
    resumed: int = 0
    replaced: int = 0
    seconds: float = 0.0
    unread: int = 0
    passages: int = 0

    def _repr_html_(self) -> str:
        rows = ((name, round(value, 1) if name == "seconds" else value) for name, value in asdict(self).items())
        return table(["", ""], rows)
