"""The paper's hyper-parameters, as published for each dataset."""

from typing import NamedTuple


class Preset(NamedTuple):
    """The hyper-parameters of the paper: the share of the first loss, and the number of negatives of each loss."""

    alpha: float = 0.1
    closest: int = 10
    closer: int = 100


PRESETS: dict[str, Preset] = {
    "arguana": Preset(0, 0, 500),
    "climate-fever": Preset(0, 0, 1000),
    "dbpedia-entity": Preset(0.25, 5, 100),
    "fever": Preset(0.1, 10, 100),
    "fiqa": Preset(0.1, 10, 100),
    "hotpotqa": Preset(0.1, 100, 1000),
    "msmarcodocs": Preset(0.1, 100, 1000),
    "nq": Preset(0.75, 5, 100),
    "quora": Preset(0.1, 10, 100),
    "scidocs": Preset(0.5, 100, 250),
    "scifact": Preset(0.1, 50, 250),
    "trec-covid": Preset(0, 0, 100),
    "webis-touche2020": Preset(0, 0, 100),
}
