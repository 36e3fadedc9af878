"""The paper's thirteen datasets: archives, sequence lengths and hyper-parameters; and defaults for any other."""

from dataclasses import dataclass
from pathlib import Path

from chamfer.errors import InputError
from chamfer.learn.presets import PRESETS, Preset

# BEIR's own server.
SERVER = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets"

# The usual lengths for BEIR: documents of 300 tokens, queries of 32 unless a dataset has longer ones. A model that does
# not pad queries with [MASK] loses nothing by a larger limit.
DOCUMENT_LENGTH, QUERY_LENGTH, UNFILLED_QUERY_LENGTH = 300, 32, 64


@dataclass(frozen=True, slots=True)
class Dataset:
    """The settings of one dataset.

    Args:
        name: name in BEIR, or name of a folder.
        group: task group in the paper; empty for other datasets.
        md5: published checksum of the archive on BEIR's server; empty for other datasets.
        sha256: SHA-256 of that archive, if it is known.
        query_length: maximum query length in tokens; 0 for the usual one.
        own_documents: whether queries are documents of the collection themselves.
        preset: published hyper-parameters of the paper's recipe; None to search all published ones on validation
            queries.
    """

    name: str
    group: str = ""
    md5: str = ""
    sha256: str | None = None
    query_length: int = 0
    own_documents: bool = False
    preset: Preset | None = None

    @property
    def url(self) -> str:
        """Address of the archive; empty if there is none."""
        return f"{SERVER}/{self.name}.zip" if self.md5 else ""


def _paper(group: str, name: str, md5: str, *, query_length: int = 0, own_documents: bool = False) -> Dataset:
    preset = PRESETS["msmarcodocs" if name == "msmarco" else name]
    return Dataset(name, group, md5, SHA256.get(name), query_length, own_documents, preset)


# BEIR publishes MD5s only. These are what several projects have measured of the archives with those MD5s; the files of
# scifact and arguana were compared with their contents too. For the others, see chamfer.reproduce.download.fetch.
SHA256 = {
    "arguana": "cfdf79adce27a401b3cd3ea267903134dbfab2c6afeb95d7fe5724a00bf7557b",
    "fiqa": "32c7df99ed21252fdfb2cf3f5673502a8d245ee0c44c4a133570d92ce2b3ad02",
    "quora": "56aacd9dcc4d9c093b63f175afdda0e21cbc8442ecf6c717d09de7b358d77531",
    "scidocs": "96640201687767c9b1fcc5af7a80b90fb325b37fa25329c2586c25edcfa17ef1",
    "scifact": "536e14446a0ba56ed1398ab1055f39fe852686ecad24a6306c80c490fa8e0165",
    "trec-covid": "120f42a7864d2214234537733c0d2c6684e42fdfafff2c5eacf98afca6656aa0",
}

# In the order of the paper's tables. We take its "MS MARCODOCS" to be BEIR's msmarco, whose test queries and published
# nDCG@10 match.
DATASETS = (
    _paper("Passage Retrieval", "msmarco", "444067daf65d982533ea17ebd59501e4"),
    _paper("Question Answering", "nq", "d4d3d2e48787a744b6f6e691ff534307"),
    _paper("Question Answering", "hotpotqa", "f412724f78b0d91183a0e86805e16114"),
    _paper("Question Answering", "fiqa", "17918ed23cd04fb15047f73e6c3bd9d9"),
    _paper("Entity Retrieval", "dbpedia-entity", "c2a39eb420a3164af735795df012ac2c"),
    _paper("Argument Retrieval", "arguana", "8ad3e3c2a5867cdced806d6503f29b99", query_length=300, own_documents=True),
    _paper("Argument Retrieval", "webis-touche2020", "46f650ba5a527fc69e0a6521c5a23563"),
    _paper("Duplicate Question Retrieval", "quora", "18fb154900ba42a600f84b839c173167"),
    _paper("Citation Prediction", "scidocs", "38121350fc3a4d2f48850f6aff52e4a9"),
    _paper("Fact Checking", "fever", "5a818580227bfb4b35bb6fa46d9b6c03"),
    _paper("Fact Checking", "climate-fever", "8b66f0a9126c521bae2bde127b4dc99d", query_length=64),
    _paper("Fact Checking", "scifact", "5f7d1de60b170fc8027bb7898e2efca1"),
    _paper("Bio-Medical IR", "trec-covid", "ce62140cb23feb9becf6270d0d1fe6d1"),
)


def dataset_named(name: str) -> Dataset:
    """Find a dataset of the paper; any other name gets default settings."""
    if Path(name).name != name.rstrip("/"):
        raise InputError(
            f"give the name of a dataset, {Path(name).name!r}, not a path, {name!r}; its folder goes to --data"
        )
    name = name.rstrip("/")
    return next((dataset for dataset in DATASETS if dataset.name == name), Dataset(name))
