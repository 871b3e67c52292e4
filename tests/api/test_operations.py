"""What lies outside /v1: health, readiness, the contract and its page; and what HTTP itself asks for."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
import yaml

from tests.api.driver import Site, answer, body_of
from tests.contract import PATH, SPEC

HTTP_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW", "QUERY")
GAME_ID = "0" * 26
PATHS = {template: template.format(id=GAME_ID, seat=0, name="paulista") for template in SPEC["paths"]}


def test_health_and_readiness(any_site: Site) -> None:
    assert body_of(any_site.send("GET", "/healthz")) == {"status": "ok"}
    assert body_of(any_site.send("GET", "/readyz")) == {"status": "ready"}


def test_the_contract_is_served_as_it_is(site: Site) -> None:
    response = site.send("GET", "/openapi.yaml")
    assert response.mimetype == "application/yaml"
    assert response.get_data() == PATH.read_bytes()
    assert yaml.safe_load(response.get_data()) == SPEC
    again = site.send("GET", "/openapi.yaml", headers={"If-None-Match": response.headers["ETag"]})
    assert (again.status_code, again.get_data()) == (304, b"")


class _References(HTMLParser):
    """What a page makes a browser fetch, and the scripts it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.inline = ""
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [
            value for name, value in attrs if name in ("src", "href", "srcset", "action", "data") and value
        ]
        self._in_script = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        self.inline += data if self._in_script else ""


def test_the_docs_page_needs_no_other_host(site: Site) -> None:
    page = site.send("GET", "/docs")
    assert (page.status_code, page.mimetype) == (200, "text/html")
    references = _References()
    references.feed(page.get_data(as_text=True))
    assert any(path.endswith(".js") for path in references.fetched)
    assert any(path.endswith(".css") for path in references.fetched)
    for reference in references.fetched:
        address = urlsplit(urljoin("/docs/", reference))
        assert (address.scheme, address.netloc) == ("", ""), reference
        assert site.send("GET", address.path).status_code == 200, reference
    assert not re.findall(r"https?:", references.inline)
    assert "/openapi.yaml" in references.inline


def test_the_docs_page_does_not_repeat_what_was_sent(site: Site) -> None:
    page = site.send("GET", "/docs")
    for sent in ({"Host": "elsewhere.example"}, {"X-Forwarded-Host": "elsewhere.example"}):
        assert site.send("GET", "/docs?url=//elsewhere.example", headers=sent).get_data() == page.get_data()


def test_the_docs_styles_fetch_nothing_from_elsewhere(site: Site) -> None:
    page = site.send("GET", "/docs").get_data(as_text=True)
    for sheet in re.findall(r'href="([^"]+\.css)"', page):
        styles = site.send("GET", sheet).get_data(as_text=True)
        fetched = re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')]+)", styles)
        assert all(url.startswith("data:") for url in fetched), (sheet, fetched)


@pytest.mark.parametrize("path", ["/docs/", "/docs/index.html"])
def test_the_docs_page_is_found_with_a_slash_too(site: Site, path: str) -> None:
    assert site.send("GET", path).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/docs/../app.py",
        "/docs/%2e%2e/%2e%2e/app.py",
        "/docs/..%2f..%2fapp.py",
        "/docs/nothing.js",
        "/docs//etc/passwd",
    ],
)
def test_the_docs_page_serves_nothing_else(site: Site, path: str) -> None:
    response = site.send("GET", path)
    assert response.status_code in (404, 308), path
    assert b"create_app" not in response.get_data()


# ---- methods ----


def declared(path: str) -> set[str]:
    """The methods of *path*, a path of the contract, with those that come by themselves."""
    methods = {method.upper() for method in SPEC["paths"][path] if method != "parameters"}
    return methods | ({"HEAD"} if "GET" in methods else set()) | {"OPTIONS"}


@pytest.mark.parametrize(("template", "path"), list(PATHS.items()))
def test_each_path_has_the_methods_of_the_contract(site: Site, template: str, path: str) -> None:
    for method in HTTP_METHODS:
        response = site.send(method, path)
        if method in declared(template):
            assert response.status_code != 405, method
        else:
            assert response.status_code == 405, method
            assert set(response.headers["Allow"].split(", ")) == declared(template)


@pytest.mark.parametrize(("template", "path"), list(PATHS.items()))
def test_options_tells_the_methods_without_a_token(site: Site, template: str, path: str) -> None:
    response = site.send("OPTIONS", path)
    assert (response.status_code, response.get_data()) == (200, b"")
    assert set(response.headers["Allow"].split(", ")) == declared(template)


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"])
def test_headers_do_not_override_the_method(site: Site, header: str) -> None:
    game = site.create("simples", 1, visibility="public")
    response = game.send("GET", "", token=game.host_token, headers={header: "DELETE"})
    assert (response.status_code, body_of(response)["id"]) == (200, game.id)
    response = game.send("POST", "?_method=DELETE", {}, game.host_token, headers={header: "DELETE"})
    assert answer(response) == (405, "method_not_allowed")
    assert game.version == 1


def test_head_is_get_without_the_body(site: Site) -> None:
    game = site.create("simples", 1, visibility="public")
    game_paths = [game.path, f"{game.path}/events"]
    for path in ["/v1/variants", "/v1/variants/paulista", "/v1/games", "/healthz", "/readyz", "/docs", *game_paths]:
        got, head = site.send("GET", path), site.send("HEAD", path)
        assert (head.status_code, head.get_data()) == (200, b"")
        for name in ("Content-Type", "Content-Length", "ETag", "Cache-Control", "Vary"):
            assert head.headers.get(name) == got.headers.get(name), (path, name)


def test_head_of_what_is_not_there(site: Site) -> None:
    for path, status in ((f"/v1/games/{GAME_ID}", 404), ("/v1/nothing", 404), ("/v1/variants/x", 404)):
        response = site.send("HEAD", path)
        assert (response.status_code, response.get_data()) == (status, b"")


def test_head_with_an_etag(site: Site) -> None:
    game = site.create("simples", 1, visibility="public")
    response = game.send("HEAD", "", headers={"If-None-Match": 'W/"v1-spec"'})
    assert (response.status_code, response.get_data()) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/v1",
        "/v1/",
        "/v2/games",
        "/v1/bots",
        "/metrics",
        "/v1/games/x/y/z",
        "//v1/games",
        "/v1//games",
        "/favicon.ico",
    ],
)
def test_there_is_nothing_at_other_paths(site: Site, path: str) -> None:
    for method in ("GET", "POST", "DELETE", "PUT"):
        assert answer(site.send(method, path)) == (404, "not_found")


@pytest.mark.parametrize("path", ["/v1/games/", "/v1/variants/", "/healthz/", f"/v1/games/{GAME_ID}/"])
def test_a_slash_at_the_end_changes_nothing(site: Site, path: str) -> None:
    with_slash, without = site.send("GET", path), site.send("GET", path.rstrip("/"))
    assert answer(with_slash) == answer(without)
