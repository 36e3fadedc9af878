"""Names of the files that commits write; all of them contain the number of the commit."""

import re

from chamfer.support.files import UNFINISHED

# Above all that a writer counts to, and with few enough digits for the name of a file.
MOST_COMMITS = 10**19

# Not \d, which is any digit of any alphabet.
SEGMENT = r"[0-9]{8,20}"
TRAINED = rf"trained-{SEGMENT}\.safetensors"
FREQUENCIES = rf"frequencies-{SEGMENT}\.i64"
DELETED = rf"deleted-{SEGMENT}-{SEGMENT}\.bits"
PLAIN = r"[a-z0-9][a-z0-9_.-]{0,99}"

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
