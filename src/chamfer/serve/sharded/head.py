"""What a server of shards has of their index: enough to encode queries for it and to weigh their tokens."""

from pathlib import Path

from chamfer.encode.encoder import Encoder
from chamfer.index.encoder import load_encoder
from chamfer.index.shards import ShardVersion, open_head
from chamfer.kernels.form import Form
from chamfer.retrieve.stages import EXACT
from chamfer.search.searcher import Searcher


class SetSearcher(Searcher):
    """Encodes queries and weighs their tokens for a version of a set, and finds nothing itself."""

    def __init__(
        self, folder: Path, version: ShardVersion, encoder: Encoder | None = None, *, form: Form = "l2"
    ) -> None:
        head = open_head(folder, version)
        super().__init__(head, encoder or load_encoder(head.settings, "query"), first_stage=EXACT, form=form)
        self.version = version
