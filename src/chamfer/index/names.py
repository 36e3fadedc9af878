"""Names of the files that commits write; all of them contain the number of the commit."""

import re

from chamfer.support.files import UNFINISHED

TRAINED = r"trained-\d{8,}\.safetensors"
FREQUENCIES = r"frequencies-\d{8,}\.i64"
DELETED = r"deleted-\d{8,}-\d{8,}\.bits"
SEGMENT = r"\d{8,}"
PLAIN = r"[a-z0-9][a-z0-9_.-]*"

# Our own files outside the segments, finished or not. Any other file in the folder must stay.
OWN = re.compile(rf"(?:{TRAINED}|{FREQUENCIES}|{DELETED})|\.(?:index|trained-|frequencies-|deleted-).*{UNFINISHED}")
OWN_SEGMENT = re.compile(SEGMENT)


def segment_name(version: int) -> str:
    """The folder of the segment that a commit adds."""
    return f"{version:08d}"


def trained_name(version: int) -> str:
    """The file of the centroids, projection and residual levels that a commit trains."""
    return f"trained-{version:08d}.safetensors"


def frequencies_name(version: int) -> str:
    """The file of document frequencies after a commit."""
    return f"frequencies-{version:08d}.i64"


def deleted_name(segment: str, version: int) -> str:
    """The file that marks the deleted documents of a segment after a commit."""
    return f"deleted-{segment}-{version:08d}.bits"
