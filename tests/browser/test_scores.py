"""The page computes scores as the server does, also where they are cut off."""

from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, expect

from tests.browser.conftest import Server
from tests.browser.looking import QUERY, scores, search, shown

RANKED = """async ([documents, weights, mix]) => {
  const { ranked, contribution } = await import("/page/scores.js");
  return ranked(documents, weights, mix).map(({ document, score, kept }) =>
    [document.id, score, weights.map((_, i) => kept * contribution(document, weights, mix, i))]);
}"""
MIXES: list[dict[str, float]] = [
    {"lexical": 0.0, "pooled": 0.0},
    {"lexical": 0.02, "pooled": 0.4},
    {"lexical": 100.0, "pooled": 0.0},
    {"lexical": 0.0, "pooled": 100.0},
]


@pytest.mark.parametrize("mix", MIXES, ids=str)
@pytest.mark.parametrize("query", [QUERY, "moon", "sun, light and moon"])
def test_scores_and_contributions_are_those_of_the_server(
    page: Page, server: Server, query: str, mix: dict[str, float]
) -> None:
    answer = server.ask("POST", "/explain", {"query": query, "k": 59, "mix": mix})
    page.goto("/")
    weights = [token["weight"] for token in answer["tokens"]]
    found = page.evaluate(RANKED, [answer["documents"], weights, mix])
    served: dict[str, Any] = {document["id"]: document for document in answer["documents"]}
    for identifier, score, contributions in found:
        assert score == pytest.approx(served[identifier]["score"], abs=1e-5)
        expected = [match["contribution"] for match in served[identifier]["matches"]]
        assert contributions == pytest.approx(expected, abs=1e-5)
    hits = server.ask("POST", "/search", {"query": query, "k": 10, "mix": mix})["hits"]
    assert [score for _, score, _ in found[:10]] == pytest.approx([hit["score"] for hit in hits], abs=1e-5)


def test_scores_beyond_the_ends_are_cut_off_and_ranked_by_what_they_were(page: Page) -> None:
    """Documents that repeat the words of the query so often that BM25 prefers them to the query itself."""

    def answer(route: Any) -> None:
        response = route.fetch()
        content = response.json()
        for place, document in enumerate(content["documents"]):
            for part in document["evidence"]:
                if part["name"] == "lexical":
                    part["value"] = part["perfect"] * (40 + place)
            if place == 2:
                for match in document["matches"]:
                    match["distance"] = 40.0
        content["documents"][2]["evidence"] = []
        route.fulfill(response=response, json=content)

    page.route("**/explain", answer)
    search(page)
    found = scores(page, "weighted")
    assert found == [1.0] * 10
    with page.expect_response("**/explain") as asked:
        page.get_by_role("button", name="Load more").click()
    ids = [document["id"] for document in asked.value.json()["documents"]]
    expect(page.locator("#weighted .card:visible")).to_have_count(20)
    expected = [one for one in ids[::-1] if one != ids[2]]
    assert shown(page, "weighted")[:10] == expected[:10], "the more they repeat the words, the higher"
    bars = page.locator("#weighted .card:visible .score-bar").evaluate_all(
        "bars => bars.map(bar => [...bar.children].reduce((sum, part) => sum + part.offsetWidth, 0) / bar.offsetWidth)"
    )
    assert max(bars) <= 1.05, "no bar is longer than a perfect match"
