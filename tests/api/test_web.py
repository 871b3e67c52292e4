"""The table as files: what is served, under which headers, and that nothing in it leads elsewhere. No browser here."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from service.api.web import MEDIA_TYPES, WEB
from tests.api.driver import Site, answer

FILES = sorted(path.relative_to(WEB).as_posix() for path in WEB.rglob("*") if path.suffix in MEDIA_TYPES)
SERVED = [name for name in FILES if name != "index.html"]
MODULES = [name for name in SERVED if name.endswith("js")]
SHEETS = [name for name in SERVED if name.endswith(".css")]
OWN = [name for name in FILES if not name.startswith("vendor/")]


def policy_of(headers: dict[str, str]) -> dict[str, str]:
    parts = (part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    return {name: value[0] if value else "" for name, *value in parts}


def test_the_page_is_at_the_top(site: Site) -> None:
    page = site.send("GET", "/")
    assert (page.status_code, page.mimetype) == (200, "text/html")
    assert page.get_data() == (WEB / "index.html").read_bytes()


def test_the_page_may_do_nothing_but_talk_to_its_service(site: Site) -> None:
    headers = dict(site.send("GET", "/").headers)
    policy = policy_of(headers)
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "img-src", "connect-src")} == {"'self'"}
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_the_docs_page_keeps_a_policy_of_its_own(site: Site) -> None:
    assert policy_of(dict(site.send("GET", "/docs").headers))["default-src"] == "'self'"


@pytest.mark.parametrize("path", ["/", *(f"/web/{name}" for name in SERVED)])
def test_a_file_is_asked_for_again_and_answered_304(site: Site, path: str) -> None:
    first = site.send("GET", path)
    assert first.status_code == 200
    assert first.mimetype == MEDIA_TYPES[Path(path).suffix or ".html"]
    assert first.headers["Cache-Control"] == "no-cache"
    again = site.send("GET", path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.get_data()) == (304, b"")
    assert site.send("GET", path, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/index.html",
        "/web",
        "/web/",
        "/web/index.html",
        "/web/README.md",
        "/web/vendor",
        "/web/nothing.js",
        "/web/../app.py",
        "/web/%2e%2e/app.py",
        "/web/..%2fapp.py",
        "/web//etc/passwd",
        "/web/vendor/../main.js",
    ],
)
def test_nothing_else_is_served(site: Site, path: str) -> None:
    assert answer(site.send("GET", path)) == (404, "not_found")


def test_only_get_and_head(site: Site) -> None:
    for path in ("/", "/web/main.js"):
        assert site.send("HEAD", path).status_code == 200
        for method in ("POST", "PUT", "DELETE"):
            assert answer(site.send(method, path)) == (405, "method_not_allowed")


# ---- what lies in the files ----


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.inline: list[str] = []
        self._tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        self.fetched += [value for name, value in attrs if name in ("src", "href") and value]
        self.inline += [name for name, _ in attrs if name == "style" or name.startswith("on")]

    def handle_data(self, data: str) -> None:
        if self._tag in ("script", "style") and data.strip():
            self.inline.append(data)


def test_the_page_has_nothing_inline_and_what_it_fetches_is_there(site: Site) -> None:
    page = _Page()
    page.feed((WEB / "index.html").read_text("utf-8"))
    assert page.inline == []
    assert len(page.fetched) >= 4
    for address in page.fetched:
        assert site.send("GET", f"/{address}").status_code == 200, address
    assert {f"web/{name}" for name in SHEETS} <= set(page.fetched)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_what_is_there_by_its_path(name: str) -> None:
    text = (WEB / name).read_text("utf-8")
    for imported in re.findall(r"""(?:import|from)\s*\(?["']([^"']+)["']""", text):
        assert imported.startswith("."), imported
        assert (WEB / name).parent.joinpath(imported).resolve().is_file(), imported


def test_every_module_is_used() -> None:
    imported = {"main.js"}
    for name in MODULES:
        found = re.findall(r"""from "(\.[^"]+)";""", (WEB / name).read_text("utf-8"))
        imported |= {(WEB / name).parent.joinpath(path).resolve().relative_to(WEB).as_posix() for path in found}
    assert imported == set(MODULES)


@pytest.mark.parametrize("name", OWN)
def test_no_file_names_another_host(name: str) -> None:
    text = (WEB / name).read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.findall(r"https?://|//\w+\.\w|@import|data:", text)
    assert "innerHTML" not in text


def test_what_is_vendored_has_its_licence() -> None:
    vendored = [path for path in (WEB / "vendor").iterdir() if path.suffix in MEDIA_TYPES]
    assert vendored
    for path in vendored:
        assert path.with_suffix(".LICENSE").stat().st_size > 500
