"""Archives fetched from a server that misbehaves."""

import hashlib
import io
import shutil
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from chamfer import InputError
from chamfer.reproduce.datasets import DATASETS, SHA256
from chamfer.reproduce.download import fetch


def archive(*names: str) -> bytes:
    """A ZIP archive with something in every file."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name in names:
            file.writestr(name, f"what is in {name}" * 500)
    return content.getvalue()


class Server(ThreadingHTTPServer):
    """Gives one archive, as a test asks for."""

    content = archive("tiny/corpus.jsonl", "tiny/qrels/test.tsv")
    resumes = True
    break_after: int | None = None
    asked: list[str | None]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/tiny.zip"

    @property
    def md5(self) -> str:
        return hashlib.md5(self.content, usedforsecurity=False).hexdigest()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        first = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.server.resumes else 0
        if asked and first >= len(self.server.content):
            self.send_error(416)
            return
        if not self.server.content:
            self.send_error(404)
            return
        rest = self.server.content[first:]
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: self.server.break_after])

    def log_message(self, *_: object) -> None:
        """Tell nobody."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as made:
        made.asked = []
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_an_archive_is_fetched_once_and_unpacked(server: Server, tmp_path: Path) -> None:
    folder = fetch(server.url, server.md5, tmp_path)
    assert folder == tmp_path / "tiny"
    assert (folder / "qrels" / "test.tsv").read_text().startswith("what is in tiny/qrels/test.tsv")
    assert fetch(server.url, server.md5, tmp_path) == folder
    assert server.asked == [None], "the second time nothing is asked for"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "tiny", "tiny.zip.sha256"]


@pytest.mark.parametrize("resumes", [True, False])
def test_a_half_downloaded_archive_is_completed(server: Server, tmp_path: Path, resumes: bool) -> None:
    server.break_after, server.resumes = 300, resumes
    with pytest.raises(InputError, match="run the command again to resume the download"):
        fetch(server.url, server.md5, tmp_path)
    assert (tmp_path / "tiny.zip.part").stat().st_size == 300
    assert not (tmp_path / "tiny").exists()
    server.break_after = None
    assert (fetch(server.url, server.md5, tmp_path) / "corpus.jsonl").is_file()
    assert server.asked == [None, "bytes=300-"]


def test_a_wrong_checksum_is_told_and_nothing_is_kept(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"checksum mismatch: .* does not have the published MD5 0000"):
        fetch(server.url, "0000", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_an_archive_with_a_forged_md5_is_refused_if_its_sha_256_is_known(server: Server, tmp_path: Path) -> None:
    genuine = hashlib.sha256(server.content).hexdigest()
    shutil.rmtree(fetch(server.url, server.md5, tmp_path, sha256=genuine))
    assert (tmp_path / "tiny.zip.sha256").read_text() == f"{genuine}\n", "kept for later downloads"
    server.content = archive("tiny/corpus.jsonl", "tiny/forged.tsv")
    for known in (genuine, None):
        with pytest.raises(InputError, match=f"checksum mismatch: .* does not have the known SHA-256 {genuine}"):
            fetch(server.url, server.md5, tmp_path, sha256=known)
        assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "tiny.zip.sha256"]


def test_known_sha_256s_are_of_datasets_that_can_be_downloaded() -> None:
    known = {dataset.name for dataset in DATASETS if dataset.sha256}
    assert known == set(SHA256)
    assert all(dataset.url for dataset in DATASETS if dataset.sha256)


def test_what_was_downloaded_but_not_unpacked_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "tiny.zip.part").write_bytes(server.content)
    assert (fetch(server.url, server.md5, tmp_path) / "corpus.jsonl").is_file()
    assert server.asked == []


def test_a_damaged_part_of_full_length_is_thrown_away(server: Server, tmp_path: Path) -> None:
    (tmp_path / "tiny.zip.part").write_bytes(b"x" * len(server.content))
    assert (fetch(server.url, server.md5, tmp_path) / "corpus.jsonl").is_file()


def test_an_archive_of_something_else_is_refused(server: Server, tmp_path: Path) -> None:
    server.content = archive("other/corpus.jsonl")
    with pytest.raises(InputError, match="is not a ZIP archive of a folder tiny"):
        fetch(server.url, server.md5, tmp_path)
    server.content = b"no archive at all"
    with pytest.raises(InputError, match="is not a ZIP archive of a folder tiny"):
        fetch(server.url, server.md5, tmp_path)
    assert not (tmp_path / "tiny").exists()


def test_nothing_is_unpacked_beside_the_folder(server: Server, tmp_path: Path) -> None:
    server.content = archive("tiny/corpus.jsonl", "../outside.txt")
    fetch(server.url, server.md5, tmp_path / "inside")
    assert not (tmp_path / "outside.txt").exists()


def test_a_server_that_cannot_be_reached_is_told_in_one_sentence(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot download .* \(.*refused.*\); .* give --data DIR") as caught:
        fetch("http://127.0.0.1:9/tiny.zip", server.md5, tmp_path)
    assert "\n" not in str(caught.value)


def test_an_archive_that_is_not_there_is_told_in_one_sentence(server: Server, tmp_path: Path) -> None:
    server.content = b""
    with pytest.raises(InputError, match=r"cannot download .* \(404 Not Found\); .* give --data DIR"):
        fetch(server.url, server.md5, tmp_path)
