"""The evaluation view, and the report that needs no server; both are drawn by the same modules."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.browser.conftest import Server
from tests.browser.looking import mark_relevant, search, shown, weight
from tests.browser.test_looks import NARROW, SCREENS, check_accessible, check_width

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# With IDF, three of them are lost and the others stay as they are; with the mix in use, one is won.
JUDGED = """query,document,relevance
is it safe to cut,knife,1
sugar in the blood,diabetes,2
less pain in the head,migraine,1
how long is rice cooked,rice,1
what can I do against slugs in the garden,slugs,1
when may a tenant leave the house,tenancy,1
how to read a large file,read-lines,1
how to read a large file,memory-map,1
<img src=x onerror=alert(1)> <script>alert(2)</script>,script,1
"""
QUERIES = 8
Results = Callable[..., Locator]


def choose_file(page: Page, tmp_path: Path, content: str = JUDGED, name: str = "judged.csv") -> None:
    (tmp_path / name).write_text(content)
    page.goto("/?view=evaluate")
    page.get_by_label("Judged file").set_input_files(tmp_path / name)


def evaluate(page: Page, tmp_path: Path, *names: str) -> Locator:
    """Compare these weights with uniform ones in the view, and return the result."""
    choose_file(page, tmp_path)
    page.get_by_role("checkbox", name="In use").uncheck()
    for name in names:
        page.get_by_role("checkbox", name=name, exact=True).check()
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.locator("#evaluation h2").first).to_be_attached(timeout=60_000)
    return page.locator("#evaluation")


@pytest.fixture
def saved(page: Page, tmp_path: Path) -> Path:
    """A report that was saved in the view."""
    evaluate(page, tmp_path, "IDF", "Mix")
    with page.expect_download() as started:
        page.get_by_role("button", name="Save as a file").click()
    assert started.value.suggested_filename == "evaluation-index.html"
    started.value.save_as(tmp_path / "report.html")
    return tmp_path / "report.html"


@pytest.fixture
def report(browser: "Browser", saved: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The report, opened from the disk by a browser that is offline; it logs nothing and asks for nothing."""
    complaints, requests = list[str](), list[str]()
    screen: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, **getattr(request, "param", {})}
    with browser.new_context(offline=True, **screen) as context:
        opened = context.new_page()
        opened.on("request", lambda one: requests.append(one.url))
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on("console", lambda message: complaints.append(message.text))
        opened.goto(saved.as_uri())
        yield opened
        assert complaints == []
        assert [url for url in requests if not url.startswith(("data:", saved.as_uri()))] == []


def rows(result: Page | Locator) -> list[str]:
    """The queries that the table shows."""
    return result.locator(".outcome th .open, .outcome th .closed").all_text_contents()


def check_result(result: Page | Locator) -> None:
    """What the view and the report have in common, which is everything."""
    headlines = result.locator(".headline p")
    expect(headlines).to_have_count(2)
    expect(headlines.first).to_have_text(
        re.compile(r"^mix ranks relevant documents higher than uniform for 1 query and")
    )
    expect(headlines.last).to_have_text(
        re.compile(r"^idf ranks .* for no query and lower for 3; for 5, nothing changes in the top 10. The mean loss")
    )
    expect(result.locator(".tally").last).to_have_text("= 5▼ 3")
    charts = result.locator(".measure")
    expect(charts).to_have_count(6)
    expect(charts.first.get_by_role("row")).to_have_count(4)
    expect(charts.first.get_by_role("row", name=re.compile("^idf"))).to_contain_text(
        re.compile(r"0\.\d+ \(.0\.\d+ to .?0\.\d+\), p\s=\s0\.\d+")
    )
    result.get_by_label("Compared with uniform").select_option("idf")
    assert rows(result)[:3] == ["is it safe to cut", "sugar in the blood", "less pain in the head"]
    assert len(rows(result)) == QUERIES
    assert "<img src=x onerror=alert(1)> <script>alert(2)</script>" in rows(result)


def check_filter(result: Page | Locator) -> None:
    result.get_by_label("Compared with uniform").select_option("idf")
    for name, count in (("Lost 3", 3), ("Won 0", 0), ("Same 5", 5), ("All 8", 8)):
        result.get_by_role("button", name=name).click()
        assert len(rows(result)) == count
    result.get_by_label("Search queries").fill("THE")
    expect(result.locator(".outcomes [role=status]")).to_have_text("4 queries of 8")
    result.get_by_role("button", name="Lost 3").click()
    assert rows(result) == ["sugar in the blood", "less pain in the head"]
    result.get_by_label("Search queries").fill("nothing like it")
    expect(result.locator(".outcomes [role=status]")).to_have_text("0 queries of 8")
    result.get_by_label("Search queries").fill("")


def check_explanation(result: Page | Locator) -> None:
    result.get_by_label("Compared with uniform").select_option("idf")
    result.get_by_role("button", name="All 8").click()
    query = result.get_by_role("button", name="sugar in the blood")
    expect(query).to_have_attribute("aria-expanded", "false")
    query.focus()
    query.press("Enter")
    expect(query).to_have_attribute("aria-expanded", "true")
    why = result.locator(".why-row:visible")
    expect(why.locator(".because")).to_have_text(
        re.compile(r"^Relevant diabetes falls from 1 to 2, below [\w-]+ \(not judged\)\.")
    )
    expect(why.locator(".moved-document").first).to_contain_text("relevant, grade 2")
    expect(why.locator(".moved-document mark").first).to_be_visible()
    gaps = why.get_by_role("row")
    for side in ("before", "after"):
        expect(why.locator(f".tilt.{side}").first).to_be_attached()
    values = [
        [float(cell.replace("\N{MINUS SIGN}", "-")) for cell in row.locator("td.number").all_text_contents()]
        for row in gaps.all()[1:]
    ]
    *parts, totals = values
    for place in (0, 1):
        assert sum(part[place] for part in parts) == pytest.approx(totals[place], abs=5e-4)
    assert totals[0] > 0 > totals[1], "ahead before, behind after"
    query.click()
    expect(result.locator(".why-row:visible")).to_have_count(0)


def test_a_file_is_measured_and_the_result_can_be_filtered_and_explained(page: Page, tmp_path: Path) -> None:
    result = evaluate(page, tmp_path, "IDF", "Mix")
    expect(result).to_be_focused()
    expect(page.locator("#notice")).to_have_text("")
    check_result(result)
    check_filter(result)
    check_explanation(result)


def test_a_report_shows_the_same_without_a_server(report: Page) -> None:
    expect(report).to_have_title("Evaluation of index")
    expect(report.get_by_role("heading", level=1)).to_have_text("Evaluation of index")
    check_result(report)
    check_filter(report)
    check_explanation(report)
    expect(report.get_by_role("link")).to_have_count(0)


def test_a_report_of_the_library_is_the_one_that_the_page_saves(saved: Path) -> None:
    from chamfer.evaluate.report import report_on

    data = re.search(r'id="evaluation">(.*?)</script>', saved.read_text(), re.DOTALL)
    assert data is not None
    held = json.loads(data[1])
    again = report_on(held)
    assert re.sub(r'id="evaluation">.*?</script>', "", again, flags=re.DOTALL) == re.sub(
        r'id="evaluation">.*?</script>', "", saved.read_text(), flags=re.DOTALL
    )


def test_a_lost_query_leads_to_the_search_view_with_its_weights(page: Page, tmp_path: Path) -> None:
    result = evaluate(page, tmp_path, "IDF")
    result.get_by_role("button", name="sugar in the blood").click()
    result.get_by_role("link", name="Look at this query in the search view").click()
    expect(page).to_have_url(re.compile(r"/\?q=sugar\+in\+the\+blood&weights=idf$"))
    expect(page.locator("#weighted .card").first).to_be_visible()
    expect(page.locator("#weighting")).to_have_value("idf")
    page.go_back()
    expect(page.locator("#evaluation .why-row:visible")).to_have_count(1)


def test_a_lost_query_of_a_version_that_is_not_in_use_leads_there_too(
    page: Page, server: Server, tmp_path: Path
) -> None:
    version = server.ask("PUT", "/weights", {"weights": "idf"})["version"]
    server.ask("POST", "/weights/use", {"version": 1})
    choose_file(page, tmp_path)
    page.get_by_role("checkbox", name="In use").uncheck()
    page.get_by_role("checkbox", name=re.compile(f"^Version {version} ")).check()
    page.get_by_role("button", name="Evaluate", exact=True).click()
    result = page.locator("#evaluation")
    result.get_by_role("button", name="sugar in the blood").click()
    result.get_by_role("link", name="Look at this query in the search view").click()
    expect(page).to_have_url(re.compile(rf"/\?q=sugar\+in\+the\+blood&weights={version}$"))
    expect(page.locator("#weighted .card").first).to_be_visible()
    expect(page.locator("#weighting option:checked")).to_have_text(f"version {version}")
    hits = server.ask("POST", "/search", {"query": "sugar in the blood", "k": 10, "weights": "idf"})["hits"]
    assert shown(page, "weighted") == [hit["id"] for hit in hits]
    weight(page, "sugar").fill("3")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Reset", exact=True)).to_be_enabled()
    expect(page.get_by_role("button", name="Save weights")).to_be_disabled()


QUERIES_JSONL = "\n".join(
    json.dumps({"_id": f"q{n}", "text": text, "metadata": {}})
    for n, text in enumerate(
        ["sugar in the blood", "how long is rice cooked", "\u201cquoted\u201d, with a comma; and less pain in the head"]
    )
)
QRELS = "query-id\tcorpus-id\tscore\nq0\tdiabetes\t2\nq1\trice\t1\nq2\tmigraine\t1\n"
TREC = "q0 0 diabetes 2\nq1 0 rice 1\nq2 0 migraine 1\n"


@pytest.mark.parametrize(("name", "qrels"), [("test.tsv", QRELS), ("test.qrels", TREC)], ids=["beir", "trec"])
def test_a_collection_is_measured_from_its_queries_and_judgements(page: Page, name: str, qrels: str) -> None:
    page.goto("/?view=evaluate")
    files = [("corpus.jsonl", '{"_id": "x", "text": "y"}'), (name, qrels), ("queries.jsonl", QUERIES_JSONL)]
    page.get_by_label("Judged file").set_input_files(
        [FilePayload(name=file, mimeType="text/plain", buffer=content.encode()) for file, content in files]
    )
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.locator("#evaluation .measured-on")).to_contain_text(": 3 queries, 59 documents.")
    assert any("with a comma; and less pain" in row for row in rows(page.locator("#evaluation")))


def test_files_that_do_not_belong_together_are_told(page: Page) -> None:
    page.goto("/?view=evaluate")

    def choose(**files: str) -> None:
        sent = [
            FilePayload(name=name.replace("_", "."), mimeType="", buffer=text.encode()) for name, text in files.items()
        ]
        page.get_by_label("Judged file").set_input_files(sent)
        page.get_by_role("button", name="Evaluate", exact=True).click()

    choose(test_tsv=QRELS, dev_tsv=QRELS)
    expect(page.locator("#notice")).to_contain_text("queries.jsonl and one file of judgements")
    choose(test_tsv=QRELS + "q9\tmoon\t1\n", queries_jsonl=QUERIES_JSONL)
    expect(page.locator("#notice")).to_have_text("test.tsv judges the query “q9”, which queries.jsonl does not have.")
    choose(test_tsv=QRELS, queries_jsonl=QUERIES_JSONL + '\n{"_id": 3}')
    expect(page.locator("#notice")).to_have_text("Line 4 of queries.jsonl needs an _id and a text.")


def test_documents_are_called_by_their_titles_where_they_have_some(page: Page, tmp_path: Path) -> None:
    def titled(route: Any) -> None:
        response = route.fetch()
        content = response.json()
        for system in content["systems"]:
            for change in system["changes"]:
                change["relevant"]["title"] = " ".join(change["relevant"]["text"].split()[:3])
        route.fulfill(response=response, json=content)

    page.route("**/evaluate/file?*", titled)
    result = evaluate(page, tmp_path, "IDF")
    result.get_by_role("button", name="sugar in the blood").click()
    why = result.locator(".why-row:visible")
    expect(why.locator(".because")).to_contain_text("Relevant In type 2 falls from 1 to 2, below brittle (not judged)")
    expect(why.locator(".moved-document strong").first).to_have_text("In type 2")
    expect(why.locator(".moved-document .id").first).to_have_text("diabetes")
    expect(why.locator(".excerpt").first).to_have_text(re.compile("^diabetes the body answers"))
    expect(why.locator(".excerpt mark").first).to_have_text("diabetes")
    expect(why.locator("caption")).to_contain_text("Evidence for In type 2 (right) and brittle (left)")


def test_marks_on_the_page_can_be_measured(page: Page, server: Server) -> None:
    page.goto("/?view=evaluate")
    expect(page.get_by_role("radio", name="Your marks: mark results as relevant")).to_be_disabled()
    expect(page.get_by_role("button", name="Evaluate", exact=True)).to_be_disabled()
    for query, relevant in (("how long is rice cooked", "rice"), ("sugar in the blood", "diabetes")):
        search(page, query)
        mark_relevant(page, "weighted", relevant)
    page.get_by_role("link", name="Evaluate").click()
    expect(page.get_by_role("radio", name="Your 2 marks, for 2 queries with a relevant document")).to_be_checked()
    page.get_by_role("button", name="Evaluate", exact=True).click()
    result = page.locator("#evaluation")
    expect(result.locator(".measured-on")).to_contain_text("Measured on your marks: 2 queries, 59 documents.")
    expect(result.locator(".headline p")).to_have_count(1)
    expect(result.get_by_text("Too few queries for confidence intervals.")).to_be_visible()
    assert server.ask("GET", "/weights")["version"] == 1, "measuring changes nothing"


def test_what_cannot_be_read_is_told_in_one_sentence(page: Page, tmp_path: Path, watch: Any) -> None:
    watch.failures_expected = True
    choose_file(page, tmp_path, "one,two\n1,2\n", "odd.csv")
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.locator("#notice")).to_contain_text(
        "The first row of odd.csv does not name columns of queries and documents"
    )
    expect(page.locator("#evaluation")).to_be_hidden()
    expect(page.locator("#evaluate-progress")).to_be_hidden()
    expect(page.get_by_role("button", name="Evaluate", exact=True)).to_be_enabled()
    page.get_by_label("Judged file").set_input_files(
        {"name": "none.csv", "mimeType": "text/csv", "buffer": b"query,document\nrice,nothing\n"}
    )
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("None of the 1 judged documents is in index")


def test_a_file_can_be_dropped(page: Page) -> None:
    page.goto("/?view=evaluate")
    transfer = page.evaluate_handle(
        """content => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([content], "dropped.csv"));
            return transfer;
        }""",
        JUDGED,
    )
    page.dispatch_event("#drop", "dragover", {"dataTransfer": transfer})
    expect(page.locator("#drop")).to_have_class("drop over")
    page.dispatch_event("#drop", "drop", {"dataTransfer": transfer})
    expect(page.locator("#drop")).to_have_class("drop")
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.locator("#evaluation .measured-on")).to_contain_text(
        "Measured on dropped.csv: 8 queries, 59 documents."
    )


def test_weights_are_chosen_with_the_keyboard_and_the_baseline_follows(page: Page, tmp_path: Path) -> None:
    choose_file(page, tmp_path)
    run = page.get_by_role("button", name="Evaluate", exact=True)
    expect(run).to_be_enabled()
    uniform, used = (
        page.get_by_role("checkbox", name="Uniform", exact=True),
        page.get_by_role("checkbox", name="In use: version 1"),
    )
    expect(uniform).to_be_checked()
    expect(page.get_by_label("Baseline")).to_have_value("uniform")
    uniform.press("Space")
    expect(page.get_by_label("Baseline")).to_have_value("current")
    expect(run).to_be_disabled()
    page.get_by_role("checkbox", name="Softened IDF", exact=True).press("Space")
    run.press("Enter")
    expect(page.locator("#evaluation .headline p")).to_have_text(re.compile("than version 1"))
    expect(used).to_be_checked()


def test_while_it_runs_a_line_says_so(page: Page, tmp_path: Path) -> None:
    held: list[Any] = []
    page.route("**/evaluate/file?*", lambda route: held.append(route))
    choose_file(page, tmp_path)
    page.get_by_role("button", name="Evaluate", exact=True).click()
    line = page.locator("#evaluate-progress")
    expect(line).to_have_text(re.compile(r"queries of judged.csv with 2 weightings… [1-9]\d* s"))
    expect(page.locator("#notice")).to_contain_text("Evaluating judged.csv")
    expect(page.get_by_role("button", name="Evaluate", exact=True)).to_be_disabled()
    held[0].continue_()
    expect(line).to_be_hidden(timeout=60_000)


@pytest.mark.parametrize("page", SCREENS.values(), ids=SCREENS, indirect=True)
def test_axe_finds_nothing_in_the_view(page: Page, tmp_path: Path) -> None:
    page.goto("/?view=evaluate")
    expect(page.get_by_role("checkbox", name="IDF", exact=True)).to_be_visible()
    check_accessible(page)
    result = evaluate(page, tmp_path, "IDF", "Mix")
    result.get_by_role("button", name="less pain in the head").click()
    check_accessible(page)


@pytest.mark.parametrize("report", SCREENS.values(), ids=SCREENS, indirect=True)
def test_axe_finds_nothing_in_a_report(report: Page) -> None:
    report.get_by_role("button", name="less pain in the head").click()
    check_accessible(report)


@pytest.mark.parametrize("page", [NARROW], indirect=True)
def test_a_narrow_view_never_scrolls_sideways(page: Page, tmp_path: Path) -> None:
    page.goto("/?view=evaluate")
    check_width(page)
    result = evaluate(page, tmp_path, "IDF", "Mix")
    result.get_by_role("button", name="less pain in the head").click()
    check_width(page)


@pytest.mark.parametrize("report", [NARROW], indirect=True)
def test_a_narrow_report_never_scrolls_sideways(report: Page) -> None:
    report.get_by_role("button", name="less pain in the head").click()
    check_width(report)


def test_a_report_prints_everything_but_its_controls(report: Page) -> None:
    report.get_by_role("button", name="less pain in the head").click()
    report.emulate_media(media="print", color_scheme="dark")
    expect(report.locator(".outcomes .tools")).to_be_hidden()
    expect(report.locator(".why-row:visible")).to_have_count(1)
    light = report.evaluate("getComputedStyle(document.body).backgroundColor.match(/oklch\\(([\\d.]+)/)?.[1]")
    assert float(light) > 0.9, "ink on paper"


def test_a_thousand_queries_are_shown_some_at_a_time(browser: "Browser", saved: Path) -> None:
    report = saved.read_text()
    data = re.search(r'id="evaluation">(.*?)</script>', report, re.DOTALL)
    assert data is not None
    held = json.loads(data[1])
    held["judged"] = [{"id": str(n), "text": f"query {n}"} for n in range(1000)]
    held["queries"] = 1000
    for system in held["systems"]:
        system["values"] = {name: [values[0]] * 1000 for name, values in system["values"].items()}
    saved.write_text(report.replace(data[1], json.dumps(held).replace("<", "\\u003c")))
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(saved.as_uri())
        assert len(rows(page)) == 50
        page.get_by_role("button", name="Show 50 more").click()
        assert len(rows(page)) == 100
        page.get_by_label("Search queries").fill("query 99")
        expect(page.locator(".outcomes [role=status]")).to_have_text("11 queries of 1,000")
        expect(page.get_by_role("button", name="Show")).to_be_hidden()
