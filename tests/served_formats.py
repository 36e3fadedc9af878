"""What the texts of the server's description look like, for schemathesis: its own would be noise without words."""

import os
from pathlib import Path

import schemathesis
from hypothesis import strategies as st
from schemathesis.transport.serialization import Binary

WORDS = ["cat", "dog", "blue sky", "<script>alert(1)</script>", "é", "猫", "' OR 1=1 --", "../../etc/passwd"]
FILTERS = ["year > 2020", "lang = 'en' and not year < 3", "tags = 'a'"]

schemathesis.openapi.format("query", st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join))
schemathesis.openapi.format("filter", st.sampled_from(FILTERS))
schemathesis.openapi.format("safetensors", st.just(Binary(Path(os.environ["SERVED_WEIGHTS"]).read_bytes())))
schemathesis.openapi.format(
    "judgements",
    st.lists(
        st.tuples(st.sampled_from(WORDS), st.sampled_from(["d1", "d2", "d3", "gone"])), min_size=1, max_size=5
    ).map(lambda rows: Binary("\n".join(["query\tdocument", *map("\t".join, rows)]).encode())),
)
