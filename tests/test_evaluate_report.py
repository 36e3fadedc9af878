"""The report of an evaluation: one file with everything in it, written whole or not at all."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path

import pytest

from chamfer import Collection, Encoder, Evaluation, evaluate
from chamfer.evaluate.page import page_file
from chamfer.evaluate.report import DATA, SCRIPT, report_page
from chamfer.support.inlining import inlined
from tests.test_cli import full_disk

HOSTILE = "</script><script>alert(1)</script><!--<script> & \u2028 @@evaluation@@"


@pytest.fixture
def evaluation(encoder: Encoder, tmp_path: Path) -> Evaluation:
    collection = Collection(
        name=HOSTILE,
        documents={"cat": f"the cat sleeps {HOSTILE}", "dog": "a dog barks at night", "day": "all day"},
        queries={"q1": f"why do cats sleep {HOSTILE}", "q2": "the dog"},
        judgements={"test": {"q1": {"cat": 1}, "q2": {"dog": 1}}},
    )
    return evaluate(collection, ["uniform", "idf"], encoder=encoder, cache=tmp_path / "cache")


def data_of(report: str) -> str:
    found = re.search(r'<script type="application/json" id="evaluation">(.*?)</script>', report, re.DOTALL)
    assert found is not None
    return found[1]


def test_a_report_holds_the_evaluation_and_no_text_can_break_out(evaluation: Evaluation, tmp_path: Path) -> None:
    evaluation.save_report(tmp_path / "new" / "report.html", explained=1)
    report = (tmp_path / "new" / "report.html").read_text()
    held = json.loads(data_of(report))
    whole = json.loads(json.dumps(evaluation.as_json(explained=1)))
    for system in whole["systems"]:
        del system["made"]  # digests of queries that weights were learnt from, say
    assert held == whole
    assert held["judged"][0]["text"].endswith(HOSTILE)
    assert report.count("<script") == 2
    assert report.count("</script") == 2


def test_a_report_loads_nothing_and_allows_only_its_own_script_and_styles(
    evaluation: Evaluation, tmp_path: Path
) -> None:
    evaluation.save_report(tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text()
    assert not re.search(r'(?:src|href)="(?!data:)', report)
    assert "url(" not in report
    assert "@import" not in report
    policy = html.unescape(re.findall(r'Content-Security-Policy" content="([^"]*)"', report)[0])
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        [content] = re.findall(rf"<{tag}>(.*?)</{tag}>", report, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_a_report_is_written_whole_or_not_at_all(evaluation: Evaluation, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("before")
    with full_disk(), pytest.raises(OSError, match="File too large"):
        evaluation.save_report(path)
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["report.html"]


def test_the_data_have_one_place_in_the_page() -> None:
    assert report_page().count(DATA) == 1
    assert f'"{DATA}"' in page_file("evaluate.js"), "where the page of a server puts them, too"


def test_the_script_is_made_of_modules_that_the_page_has() -> None:
    script = inlined(SCRIPT, page_file)
    modules = re.findall(r"^// (\S+)$", script, re.MULTILINE)
    assert {"element.js", "evaluation.js", "measured.js", "outcomes.js", "overtaken.js", "report.js"} <= set(modules)
    assert modules[-1] == SCRIPT
    assert "fetch(" not in script
    assert "import " not in re.sub(r"/\*.*?\*/|//.*", "", script, flags=re.DOTALL)


MODULES = {
    "main.js": 'import { b as c, d } from "./b.js";\nimport {\n  e,\n} from "./e.js";\nc(d, e);\n',
    "b.js": 'import { e } from "./e.js";\nexport function b() {}\nexport const d = e;\n',
    "e.js": "/** @typedef {import('./types.js').A} A\n * import nothing */\n"
    "export class e {}\nexport async function* f() {}\nexport {};\n",
}


def test_modules_come_before_those_that_need_them() -> None:
    script = inlined("main.js", MODULES.__getitem__)
    assert re.findall(r"^// (\S+)$", script, re.MULTILINE) == ["e.js", "b.js", "main.js"]
    assert 'const { b: c, d } = modules["b.js"];' in script
    assert 'const { e, } = modules["e.js"];' in script
    assert "return { e, f };" in script


@pytest.mark.parametrize(
    "source",
    [
        'import * as all from "./b.js";',
        'import b from "./b.js";',
        'import "./b.js";',
        'import { b } from "https://example.org/b.js";',
        "export default 5;",
        "export let a = 1;",
        "export const { a } = b;",
        'export { b } from "./b.js";',
        'const b = await import("./b.js");',
        "const here = import.meta.url;",
        '  import { b } from "./b.js";',
    ],
)
def test_what_cannot_be_inlined_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"main\.js has an import or export that cannot be inlined"):
        inlined("main.js", {"main.js": source}.__getitem__)


def test_modules_that_import_each_other_are_refused() -> None:
    modules = {"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'}
    with pytest.raises(ValueError, match="modules import each other"):
        inlined("a.js", modules.__getitem__)


def test_a_script_never_ends_its_element() -> None:
    script = inlined("a.js", {"a.js": 'const a = "</script>", b = "<!--<script>", c = /<\\/b>/;\n'}.__getitem__)
    assert "</" not in script
    assert "<!--" not in script
    assert 'const a = "<\\/script>", b = "<\\!--<script>", c = /<\\/b>/;' in script
