import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, Route, expect

from chamfer.data.judgements import judgements_from
from tests.browser.conftest import Server, Watch
from tests.browser.looking import QUERY, card, mark_relevant, notice, search

JUDGED = {QUERY: "hip-fracture", "what helps against the headwind": "e-bike", "how long is rice cooked": "rice"}
# What recipes and their hyper-parameters are called; the page names none of them.
INTERNAL = re.compile(r"\b(blend|adapter|lambda|penalty|prior|recipe|candidates?|cross-validation)\b", re.IGNORECASE)


def judge(page: Page) -> None:
    for query, relevant in JUDGED.items():
        search(page, query)
        mark_relevant(page, "weighted", relevant)


def keep(page: Page, marks: dict[str, dict[str, bool]]) -> None:
    """Marks as the page stores them."""
    page.goto("/?view=learn")
    expect(page.locator("#health")).not_to_be_empty()
    index = page.evaluate("fetch('/health').then(one => one.json()).then(one => one.index)")
    page.evaluate(
        "([key, marks]) => localStorage.setItem(key, marks)", [f"chamfer.judgements.{index}", json.dumps(marks)]
    )
    page.reload()


def outcome(**changes: Any) -> dict[str, Any]:
    """An answer of the server to a request to learn."""
    documents = [{"id": "rice", "before": 4, "after": 1}, {"id": "onions", "before": 2, "after": None}]
    compared = [
        {"query": "how long is rice cooked", "ndcg_before": 0.4, "ndcg_after": 0.9, "documents": documents},
        {
            "query": "moon",
            "ndcg_before": 1.0,
            "ndcg_after": 0.6,
            "documents": [{"id": "moon", "before": 1, "after": 2}],
        },
    ]
    token = {"token": "##ing", "text": "ing", "starts_word": False, "before": 1.0, "after": 2.0}
    found: dict[str, Any] = {
        "version": 1,
        "verdict": "better",
        "sentence": "Better than the weights in use: relevant documents rank higher.",
        "left_out": [],
        "queries": 2,
        "held_out": True,
        "known": 0,
        "better": 1,
        "unchanged": 0,
        "worse": 1,
        "p_value": 0.01,
        "ndcg_before": 0.7,
        "ndcg_after": 0.75,
        "compared": compared,
        "changed": [token],
    }
    return {**found, **changes}


def answer_with(page: Page, found: dict[str, Any]) -> None:
    def fulfil(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(json=found)
        else:
            route.continue_()

    page.route("**/learn", fulfil)


def test_a_judgement_shows_in_both_columns_and_is_stored(page: Page) -> None:
    search(page)
    mark_relevant(page, "uniform", "hip-fracture")
    for column in ("uniform", "weighted"):
        button = card(page, column, "hip-fracture").get_by_role("button", name="relevant", exact=True)
        expect(button).to_have_attribute("aria-pressed", "true")
    page.reload()
    button = card(page, "weighted", "hip-fracture").get_by_role("button", name="relevant", exact=True)
    expect(button).to_have_attribute("aria-pressed", "true")
    card(page, "weighted", "hip-fracture").get_by_role("button", name="not relevant").click()
    expect(button).to_have_attribute("aria-pressed", "false")
    page.goto("/")
    expect(page.get_by_role("region", name="Judged before").get_by_role("link")).to_have_text(QUERY)
    page.get_by_role("link", name=QUERY).click()
    card(page, "weighted", "hip-fracture").get_by_role("button", name="not relevant").click()
    expect(page.locator("#judgement-count")).to_be_hidden()


def test_a_line_says_how_far_marking_has_come(page: Page) -> None:
    search(page)
    mark_relevant(page, "weighted", "hip-fracture")
    page.get_by_role("link", name="Learn").click()
    bar = page.get_by_role("progressbar", name="Judged queries")
    expect(page.locator("#marking-text")).to_have_text(
        "1 of about 100 judged queries; 1 more until weights can be learnt."
    )
    expect(bar).to_have_attribute("aria-valuenow", "1")
    expect(bar).to_have_attribute("aria-valuemax", "100")
    expect(page.get_by_role("button", name="Learn weights")).to_be_disabled()
    keep(page, {f"query {n}": {"rice": True} for n in range(120)})
    expect(page.locator("#marking-text")).to_have_text("120 judged queries; about 100 are usually enough.")
    expect(bar).to_have_attribute("aria-valuenow", "100")
    expect(page.get_by_role("button", name="Learn weights")).to_be_enabled()


def test_weights_that_are_no_better_are_listed_but_nobody_is_invited_to_use_them(page: Page, server: Server) -> None:
    judge(page)
    page.get_by_role("link", name="Learn 3").click()
    page.get_by_role("button", name="Learn weights").click()
    learnt = page.locator("#learnt")
    expect(learnt.get_by_role("heading", level=2)).to_have_text(
        re.compile(
            r"^(No|Not clearly) better than the weights in use: keep marking\. "
            r"About 100 more judged queries are usually needed\.$"
        ),
        timeout=60_000,
    )
    expect(learnt).to_be_focused()
    expect(learnt).to_contain_text("Measured on 3 queries, each searched with weights learnt without it.")
    expect(learnt.get_by_role("button", name=re.compile("[Uu]se"))).to_have_count(0)
    expect(learnt.get_by_role("heading", name="Ranks of relevant documents, before and after")).to_be_visible()
    expect(learnt.locator(".compared-queries a")).to_have_count(3)
    assert not INTERNAL.search(page.locator("main").inner_text())
    newest = server.ask("GET", "/weights")["versions"][0]
    assert (newest["verdict"], server.ask("GET", "/weights")["version"]) == ("not better", 1)
    learnt.get_by_role("button", name="Keep marking").click()
    expect(page.get_by_role("searchbox", name="Query")).to_be_focused()
    page.get_by_role("link", name="Weights", exact=True).click()
    listed = page.locator(".version").first
    expect(listed).to_contain_text("Learnt from 3 judged queries")
    expect(listed).to_contain_text("Not better than the weights it was compared with")
    assert not INTERNAL.search(page.locator("main").inner_text())


def test_weights_that_are_better_can_be_used(page: Page, server: Server) -> None:
    newest = server.ask("PUT", "/weights", {"weights": "idf"})["version"]
    server.ask("POST", "/weights/use", {"version": 1})
    keep(page, {"how long is rice cooked": {"rice": True, "onions": True}, "moon": {"moon": True}})
    answer_with(page, outcome(version=newest))
    page.get_by_role("button", name="Learn weights").click()
    learnt = page.locator("#learnt")
    expect(learnt.get_by_role("heading", level=2)).to_have_text(
        "Better than the weights in use: relevant documents rank higher."
    )
    for name, value in (("get better", "1"), ("get worse", "1"), ("stay the same", "0"), ("nDCG@10", "0.700 → 0.750")):
        expect(learnt.locator(".figure", has_text=name).locator("strong")).to_contain_text(value)
    expect(learnt.locator(".compared-query").first).to_contain_text("how long is rice cooked")
    expect(learnt.locator(".compared-query").first).to_contain_text("better")
    expect(learnt.locator(".judged-document").first).to_contain_text("rank 4 before, 1 after")
    expect(learnt.locator(".judged-document").nth(1)).to_contain_text("2 → not found")
    learnt.get_by_text("Largest weight changes").click()
    expect(learnt.locator(".change-list")).to_contain_text("…ing")
    learnt.get_by_role("link", name="moon").click()
    expect(page).to_have_url(re.compile(r"\?q=moon$"))
    page.go_back()
    learnt.get_by_role("button", name="Use these weights").click()
    expect(notice(page)).to_have_text(f"Version {newest} of the weights is now in use.")
    expect(page.locator("#weighted .card, #empty").first).to_be_attached()
    assert server.ask("GET", "/weights")["version"] == newest
    page.get_by_role("link", name="Learn").click()
    expect(learnt).to_be_hidden()


def test_figures_on_the_queries_that_were_learnt_from_say_so(page: Page) -> None:
    keep(page, {"rice": {"rice": True}, "moon": {"moon": True}})
    sentence = "Not compared with the weights in use: those were learnt from the same queries. Mark results of others."
    answer_with(page, outcome(verdict="not compared", sentence=sentence, held_out=False, known=2))
    page.get_by_role("button", name="Learn weights").click()
    learnt = page.locator("#learnt")
    expect(learnt).to_contain_text(
        "Measured on the queries that were learnt from, so the new weights look better than they are."
    )
    expect(learnt.get_by_role("button", name=re.compile("[Uu]se"))).to_have_count(0)
    page.get_by_role("button", name="Learn again").click()
    expect(learnt).to_be_focused()


def test_only_the_first_queries_are_shown_until_all_are_asked_for(page: Page) -> None:
    keep(page, {"rice": {"rice": True}, "moon": {"moon": True}})
    one = outcome()["compared"][1]
    answer_with(page, outcome(compared=[{**one, "query": f"query {n:02d}"} for n in range(30)]))
    page.get_by_role("button", name="Learn weights").click()
    expect(page.locator(".compared-queries > li")).to_have_count(12)
    page.get_by_role("button", name="Show all 30 queries").click()
    expect(page.locator(".compared-queries > li")).to_have_count(30)
    expect(page.get_by_role("link", name="query 12")).to_be_focused()


def test_what_the_server_is_doing_is_said_while_it_learns(page: Page) -> None:
    keep(page, {"rice": {"rice": True}, "moon": {"moon": True}})
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "POST":
            waiting.append(route)
        else:
            running = {"doing": "fitting weights", "done": 4, "of": 30, "seconds": 2.0}
            route.fulfill(json={"refusal": None, "least": 2, "usually_needed": 100, "most": 1000, "running": running})

    page.route("**/learn", hold)
    page.get_by_role("button", name="Learn weights").click()
    expect(page.locator("#learning")).to_have_text("Learning from 2 judged queries…")
    expect(page.locator("#learning-step")).to_have_text(
        re.compile(r"^0:0\d · Fitting weights to some of the queries, and measuring them on the others: 4 of 30$")
    )
    expect(page.get_by_role("button", name="Learn weights")).to_be_disabled()
    waiting[0].fulfill(json=outcome())
    expect(page.locator("#learnt")).to_be_visible()
    expect(page.locator("#learning-step")).to_be_empty()


def test_a_refusal_is_told_where_the_button_is(page: Page, watch: Watch) -> None:
    watch.failures_expected = True
    keep(page, {"rice": {"rice": True}, "moon": {"moon": True}})

    def refuse(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(status=409, json={"message": "nothing can be learnt: judge other queries"})
        else:
            route.continue_()

    page.route("**/learn", refuse)
    page.get_by_role("button", name="Learn weights").click()
    expect(page.locator("#learning")).to_have_text("Nothing can be learnt: judge other queries.")
    expect(page.get_by_role("button", name="Learn weights")).to_be_enabled()
    expect(notice(page)).to_be_empty()


def test_a_server_that_cannot_learn_says_so_before_anybody_tries(page: Page) -> None:
    refusal = "weights cannot be learnt from shards; learn them from the index that was split"
    page.route(
        "**/learn",
        lambda route: route.fulfill(
            json={"refusal": refusal, "least": 2, "usually_needed": 100, "most": 1000, "running": None}
        ),
    )
    keep(page, {"rice": {"rice": True}, "moon": {"moon": True}})
    expect(page.locator("#learn-lead")).to_have_text(f"W{refusal[1:]}.")
    expect(page.get_by_role("button", name="Learn weights")).to_be_hidden()
    expect(page.get_by_role("progressbar")).to_be_hidden()
    expect(page.get_by_role("button", name="Download as CSV")).to_be_visible()


def test_marks_that_cannot_be_learnt_from_say_why(page: Page) -> None:
    marks = {
        "rice": {"rice": True, "gone": False},
        "moon": {"gone": True},
        "что такое луна": {"moon": True},
        "onions": {"onions": False},
        "headwind": {"e-bike": True},
    }
    keep(page, marks)
    item = page.locator("#judgements > li")
    expect(item.nth(0)).to_contain_text("No longer in the index: gone.")
    expect(item.nth(1)).to_contain_text("Not learnt from: its relevant documents are no longer in the index.")
    expect(item.nth(2)).to_contain_text("Not learnt from: the model of this index cannot read this query.")
    expect(item.nth(3)).to_contain_text("Not learnt from: no document is marked relevant.")
    expect(page.locator("#marking-text")).to_contain_text("2 of about 100 judged queries")
    expect(page.locator("#marks-note")).to_contain_text(
        "The index has changed: documents marked for 2 queries are gone."
    )
    sent: list[Any] = []

    def look(route: Route) -> None:
        if route.request.method == "POST":
            sent.append(route.request.post_data_json)
            route.fulfill(json=outcome())
        else:
            route.continue_()

    page.route("**/learn", look)
    page.get_by_role("button", name="Learn weights").click()
    expect(page.locator("#learnt")).to_be_visible()
    assert sent[0]["judgements"] == [
        {"query": "rice", "relevant": ["rice"], "not_relevant": []},
        {"query": "headwind", "relevant": ["e-bike"], "not_relevant": []},
    ]
    item.nth(0).get_by_role("button", name="Remove this mark").click()
    expect(item.nth(0)).not_to_contain_text("gone")


def test_learnt_weights_can_be_discarded(page: Page, server: Server) -> None:
    before = server.ask("GET", "/weights")["versions"]
    judge(page)
    page.get_by_role("link", name="Learn").click()
    page.get_by_role("button", name="Learn weights").click()
    page.get_by_role("button", name="Discard").click(timeout=60_000)
    expect(page.locator("#learnt")).to_be_hidden()
    expect(notice(page)).to_contain_text("Discarded version")
    assert server.ask("GET", "/weights") == {"version": 1, "versions": before}


def test_marks_are_exchanged_as_a_file_that_learning_reads(page: Page, tmp_path: Path) -> None:
    marks = {
        'what is "rice", really': {"rice": True, "onions": False},
        "line\nbreak; and more": {"moon": True},
        "что такое луна": {"moon": True},
    }
    keep(page, marks)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    assert download.value.suggested_filename == "judged.csv"
    download.value.save_as(tmp_path / "judged.csv")
    read = judgements_from(tmp_path / "judged.csv")
    assert read == {query: {name: int(relevant) for name, relevant in own.items()} for query, own in marks.items()}
    page.get_by_role("button", name="Clear all marks").click()
    page.get_by_role("dialog").get_by_role("button", name="Clear all").click()
    expect(page.locator("#judgements > li")).to_have_count(0)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Import from CSV").click()
    chooser.value.set_files(tmp_path / "judged.csv")
    expect(notice(page)).to_have_text("Imported 4 marks for 3 queries.")
    expect(page.locator("#judgements > li")).to_have_count(3)
    with page.expect_download() as again:
        page.get_by_role("button", name="Download as CSV").click()
    again.value.save_as(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "judged.csv").read_bytes()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("query;document;relevance\nrice;rice;1\nrice;onions;0\n", "Imported 2 marks for 1 query."),
        ("Document\tQuery\nrice\t rice \n\n", "Imported 1 mark for 1 query."),
        ("a,b\n1,2\n", "The first row of the file must name the columns query, document and relevance."),
        ("query,document,relevance\nrice,rice,very\n", "Row 2 of the file needs a query, a document and a number"),
        ("query,document,relevance\nrice,rice,1\n,rice,1\n", "Row 3 of the file needs a query"),
        ("", "The first row of the file must name the columns"),
    ],
)
def test_a_file_of_marks_is_read_or_refused_in_one_sentence(page: Page, content: str, told: str) -> None:
    page.goto("/?view=learn")
    expect(page.locator("#health")).not_to_be_empty()
    file: Any = {"name": "judged.csv", "mimeType": "text/csv", "buffer": content.encode()}
    page.locator("#marks-file").set_input_files(file)
    expect(notice(page)).to_contain_text(told)


def test_marks_can_be_cleared(page: Page) -> None:
    judge(page)
    page.get_by_role("link", name="Learn").click()
    page.get_by_role("button", name=f"Clear the marks for {QUERY}").click()
    expect(page.locator("#judgements > li")).to_have_count(2)
    page.get_by_role("button", name="Clear all marks").click()
    page.get_by_role("dialog").get_by_role("button", name="Clear all").click()
    expect(page.locator("#judgements > li")).to_have_count(0)
    expect(page.locator("#learn-lead")).to_contain_text("Mark results as relevant")
