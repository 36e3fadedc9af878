"""The MCP server: what an agent is told, what its tools return, and nothing but the protocol on stdout."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra chamfer[mcp] is not installed")

from mcp.client import Client
from mcp.types import CallToolResult, TextContent

from chamfer import Document, Encoder, Index, InputError, Searcher, build_index
from chamfer.integrations.mcp import LONG_VALUE, PART, SHORT_VALUE, SHOWN_FIELDS, SNIPPET, mcp_server
from tests.conftest import DOCUMENTS

QUERY = "why do cats sleep"
LONG = "a cat sat on a mat. " * 1500


@pytest.fixture(scope="module")
def folder(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mcp") / "index"
    documents = [Document(name, text, metadata={"length": len(text)}) for name, text in DOCUMENTS.items()]
    build_index(folder, [*documents, Document("long", LONG), Document("-", "")], encoder, allow_empty=True)
    return folder


def call(folder: Path, tool: str, **arguments: Any) -> CallToolResult:
    async def ask() -> CallToolResult:
        async with Client(mcp_server(folder)) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(ask())


def answer(folder: Path, tool: str, **arguments: Any) -> dict[str, Any]:
    result = call(folder, tool, **arguments)
    [content] = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    found: dict[str, Any] = json.loads(content.text)
    assert found == result.structured_content, "agents may read either"
    return found


def error(folder: Path, tool: str, **arguments: Any) -> str:
    result = call(folder, tool, **arguments)
    [content] = result.content
    assert isinstance(content, TextContent)
    assert result.is_error
    return content.text


def test_an_agent_is_told_what_there_is(folder: Path) -> None:
    async def ask() -> None:
        async with Client(mcp_server(folder)) as client:
            said = client.instructions
            assert said is not None
            assert "a collection of 7 documents" in said
            assert said.endswith("Metadata to filter on: length.")
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == ["search", "explain", "read"]
            for tool in tools.values():
                assert tool.description
                assert tool.annotations is not None
                assert tool.annotations.read_only_hint
                assert all("description" in one for one in tool.input_schema["properties"].values())
            assert tools["search"].input_schema["required"] == ["query"]

    asyncio.run(ask())


def test_a_search_returns_what_the_library_finds(folder: Path, encoder: Encoder) -> None:
    hits = Searcher.open(folder, encoder=encoder).search(QUERY, 3, where="length > 15")
    found = answer(folder, "search", query=QUERY, k=3, where="length > 15")
    assert found["probably_nothing"] is hits.probably_nothing
    assert answer(folder, "search", query=QUERY, min_score=1.0)["hits"] == []
    assert [(one["id"], one["text"]) for one in found["hits"]] == [(hit.id, hit.text) for hit in hits]
    assert found["hits"][0]["metadata"] == hits[0].metadata
    assert all(0 <= one["score"] <= 1 and one["is_whole"] for one in found["hits"])
    assert found["notes"] == []


def test_a_long_document_is_cut_in_a_search_and_read_in_parts(folder: Path) -> None:
    every = answer(folder, "search", query=QUERY, k=50)["hits"]
    [hit] = [one for one in every if one["id"] == "long"]
    assert (hit["text"], hit["is_whole"]) == (LONG[:SNIPPET], False)
    assert every[-1]["score"] == 0, "a document without text"
    first = answer(folder, "read", id="long")
    assert (first["text"], first["characters"], first["next_start"]) == (LONG[:PART], len(LONG), PART)
    second = answer(folder, "read", id="long", start=first["next_start"])
    assert (first["text"] + second["text"], second["next_start"]) == (LONG, None)
    assert answer(folder, "read", id="d1")["metadata"] == {"length": len(DOCUMENTS["d1"])}


def test_reading_goes_on_where_the_text_of_a_search_ends(tmp_path: Path, encoder: Encoder) -> None:
    build_index(tmp_path, [Document("a", LONG, title="The mat")], encoder)
    [hit] = answer(tmp_path, "search", query=QUERY)["hits"]
    rest = answer(tmp_path, "read", id="a", start=len(hit["text"]))
    assert (hit["title"], rest["title"], rest["characters"]) == ("The mat", "The mat", len(LONG))
    assert LONG.startswith(hit["text"] + rest["text"])


def test_metadata_is_bounded(tmp_path: Path, encoder: Encoder) -> None:
    metadata: dict[str, Any] = {
        "tags": ["x"] * 1000,
        "long": "y" * 9000,
        **{f"field{place}": place for place in range(100)},
    }
    build_index(tmp_path, [Document("a", "cats", metadata=metadata)], encoder)
    [hit] = answer(tmp_path, "search", query=QUERY)["hits"]
    for found, longest in ((hit["metadata"], SHORT_VALUE), (answer(tmp_path, "read", id="a")["metadata"], LONG_VALUE)):
        assert list(found) == list(metadata)[:SHOWN_FIELDS]
        assert found["long"] == "y" * longest + "…"
        assert found["tags"] == json.dumps(metadata["tags"])[:longest] + "…"
        assert found["field7"] == 7


def test_an_explanation_names_the_words(folder: Path, encoder: Encoder) -> None:
    why = Searcher.open(folder, encoder=encoder).explain(QUERY, "d4")
    found = answer(folder, "explain", query=QUERY, id="d4")
    assert found["score"] == pytest.approx(why.score, abs=1e-5)
    assert [one["word"] for one in found["words"]] == QUERY.split()
    assert set(found["evidence"]) == {part.name for part in why.evidence}
    assert found["special_share"] == pytest.approx(why.special_share, abs=1e-5)
    shares = [*(one["share"] for one in found["words"]), found["special_share"], *found["evidence"].values()]
    assert sum(shares) == pytest.approx(1, abs=1e-4), "nothing is left out"


def test_notes_say_what_is_odd_about_a_search(folder: Path) -> None:
    found = answer(folder, "search", query="cat " * 100, where="size > 2")
    assert found["hits"] == []
    assert [note.split(";")[0] for note in found["notes"]] == [
        "no document has the field 'size'",
        "only the first 64 tokens of the query count",
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search", {"query": QUERY, "where": "length >"}, "a filter needs a value"),
        ("search", {"query": " "}, "has no tokens; give some text"),
        ("search", {"query": QUERY, "k": 0}, "greater than or equal to 1"),
        ("explain", {"query": QUERY, "id": "none"}, "there is no document 'none' in the index"),
        ("explain", {"query": QUERY, "id": "-"}, "document '-' has no tokens"),
        ("read", {"id": "none"}, "there is no document 'none' in the index"),
    ],
)
def test_an_agent_is_told_what_is_wrong(folder: Path, tool: str, arguments: dict[str, Any], told: str) -> None:
    assert told in error(folder, tool, **arguments)


def test_changes_of_the_index_are_followed(folder: Path, encoder: Encoder, tmp_path: Path) -> None:
    changed = shutil.copytree(folder, tmp_path / "index")

    async def ask() -> None:
        async with Client(mcp_server(changed)) as client:
            await client.call_tool("search", {"query": QUERY})
            with Index.open(changed, encoder=encoder) as index:
                index.add([Document("new", QUERY)])
            found = await client.call_tool("search", {"query": QUERY, "k": 1})
            assert found.structured_content is not None
            assert found.structured_content["hits"][0]["id"] == "new"
            read = await client.call_tool("read", {"id": "new"})
            assert not read.is_error

    asyncio.run(ask())


def test_an_index_is_checked_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no index"):
        mcp_server(tmp_path)


def test_the_command_speaks_nothing_but_the_protocol(folder: Path) -> None:
    """Over real pipes; reading loads no model."""
    who = {"name": "test", "version": "1"}
    asked: list[dict[str, Any]] = [
        {
            "method": "initialize",
            "id": 1,
            "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who},
        },
        {"method": "notifications/initialized"},
        {"method": "tools/call", "id": 2, "params": {"name": "read", "arguments": {"id": "d1"}}},
    ]
    command = [sys.executable, "-m", "chamfer.cli.app", "mcp", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        answers = []
        for message in asked:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
            if "id" in message:
                answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        assert server.stdout.read() == ""
    assert server.returncode == 0
    assert [one["id"] for one in answers] == [1, 2]
    assert answers[0]["result"]["serverInfo"]["name"] == "chamfer"
    assert answers[1]["result"]["structuredContent"]["text"] == DOCUMENTS["d1"]
