"""The table: the page at / and the files that it is made of, as they lie in service/web."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flask import Blueprint, Response, abort, request

WEB: Final = Path(__file__).parents[1] / "web"
PAGE: Final = "index.html"
MEDIA_TYPES: Final = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
"""Of what is served; the other files are for readers of the source."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
"""The page has nothing inline and asks nobody but this service."""


def table() -> Blueprint:
    """All files are read once, here; so no path of a request ever reaches the disk."""
    web = Blueprint("web", __name__)
    files = dict(_files())
    page = files.pop(PAGE)

    @web.get("/")
    def get_table() -> Response:
        return _answer(page)

    @web.get("/web/<path:name>")
    def get_file(name: str) -> Response:
        return _answer(files[name] if name in files else abort(404))

    return web


def _answer(file: Response) -> Response:
    """A copy: a response belongs to one request."""
    response = Response(file.get_data(), headers=file.headers)
    response.make_conditional(request)
    return response


def _files() -> Iterator[tuple[str, Response]]:
    """Without a build step the names say nothing of the content, so a browser asks each time, mostly for a 304."""
    for path in WEB.rglob("*"):
        if path.suffix in MEDIA_TYPES:
            file = Response(path.read_bytes(), mimetype=MEDIA_TYPES[path.suffix])
            file.headers["Cache-Control"] = "no-cache"
            file.add_etag()
            yield path.relative_to(WEB).as_posix(), file
