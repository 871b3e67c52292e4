"""A person at the page: a browser of their own, and verbs for what they do there. They read Portuguese."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.api.driver import Started

Body = dict[str, Any]

PHONE: Final = {"width": 360, "height": 640}
DESK: Final = {"width": 1280, "height": 800}
SHOTS: Final = os.environ.get("TRUCO_SHOTS")
"""A directory: where pictures go, for eyes; without it none are taken."""

CARD_NAMES: Final = {"A": "ás", "J": "valete", "Q": "dama", "K": "rei"}
SUIT_NAMES: Final = {"C": "paus", "H": "copas", "S": "espadas", "D": "ouros"}

_KEEPS_WHAT_COMES: Final = """
(() => {
  const heard = (window.__heard = []);
  const fetch = window.fetch;
  window.fetch = async (...asked) => {
    const response = await fetch(...asked);
    const entry = { url: response.url, text: "" };
    heard.push(entry);
    const reader = response.clone().body?.pipeThrough(new TextDecoderStream()).getReader();
    const read = () => reader.read().then(keep, () => {});
    const keep = ({ done, value }) => { if (!done) { entry.text += value; read(); } };
    if (reader) read();
    return response;
  };
})();
"""
"""Runs before the page's own scripts: a log of every byte that the page is sent by the API, streams too."""


def card_name(card: str) -> str:
    """As the page calls it: "3 de paus"."""
    rank, suit = card[:-1], card[-1]
    return f"{CARD_NAMES.get(rank, rank)} de {SUIT_NAMES[suit]}"


class Person:
    def __init__(
        self,
        browser: Browser,
        url: str,
        name: str = "Ana",
        pace: str = "instant",
        viewport: Mapping[str, int] = PHONE,
        **options: Any,
    ) -> None:
        options = {"locale": "pt-BR", "reduced_motion": "reduce", "color_scheme": "light", **options}
        self.context: BrowserContext = browser.new_context(viewport=dict(viewport), base_url=url, **options)
        self.context.set_default_timeout(60_000)
        self.context.add_init_script(_KEEPS_WHAT_COMES)
        chosen = {"pace": pace, "name": name}
        for choice, value in chosen.items():
            key = json.dumps(f"truco.choice.{choice}")
            self.context.add_init_script(f"localStorage[{key}] ??= {json.dumps(json.dumps(value))}")
        self.page: Page = self.context.new_page()
        self.name = name
        self._url = url
        self._heard: list[Body] = []
        self.complaints: list[str] = []
        """Of the browser: errors of scripts, and what the policy of the page forbade."""
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self._console(message.type, message.text))
        self.requested: list[str] = []
        self.page.on("request", lambda request: self.requested.append(request.url))

    def _console(self, kind: str, text: str) -> None:
        if kind == "error" and "Failed to load resource" not in text:
            self.complaints.append(text)

    # ---- getting there ----

    def open(self, fragment: str = "") -> None:
        self._keep_heard()
        self.page.goto(f"/{fragment}")

    def reload(self) -> None:
        self._keep_heard()
        self.page.reload()

    def create(self, seats: int = 4, variant: str = "paulista", **rules: str) -> None:
        """A new game with friends, by the form; *rules* are labels and what is chosen or typed there."""
        self.open("#/new")
        self.page.get_by_role("radio", name=f"{seats} · ").check()
        self.page.get_by_label("Variante").select_option(label=variant)
        if rules:
            self.page.get_by_text("Regras da casa").click()
        for label, value in rules.items():
            field = self.page.get_by_label(label.replace("_", " "))
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(label=value)
            else:
                field.fill(value)
        self.page.get_by_role("button", name="Amigos em todos os lugares").click()
        self.page.get_by_role("button", name="Pôr as cartas na mesa").click()
        expect(self.page.get_by_role("heading", name="Sala de espera")).to_be_visible()

    @property
    def invitation(self) -> str:
        """The address that the lobby shows."""
        return self.page.get_by_label("Endereço do convite").input_value()

    def accept(self, invitation: str) -> None:
        """Come by *invitation* and sit down."""
        self.page.goto(invitation)
        self.page.get_by_role("button", name="Entrar no jogo").click()

    def sit(self, game: Started, seat: int, **kept: str | None) -> None:
        """Come first to a game that was made elsewhere, and has this person on *seat*; *kept* is known of it too."""
        known = {"seat": seat, "token": game.tokens[seat], **kept}
        key = json.dumps(f"truco.game.{game.id}")
        self.context.add_init_script(f"localStorage[{key}] ??= {json.dumps(json.dumps(known))}")
        self.open(f"#/game/{game.id}")

    def look_again(self) -> None:
        """Leave the table and come back to it as it is now."""
        self.page.evaluate(
            """async () => {
              const here = location.hash;
              const left = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
              location.hash = "#/new";
              await left;
              location.hash = here;
            }"""
        )

    @property
    def game_id(self) -> str:
        found = re.search(r"#/game/(\w{26})", self.page.url)
        assert found, self.page.url
        return found[1]

    @property
    def kept(self) -> Body:
        """What this browser keeps of the game."""
        kept: Body = self.page.evaluate("id => JSON.parse(localStorage['truco.game.' + id])", self.game_id)
        return kept

    # ---- at the table ----

    @property
    def hand(self) -> Locator:
        return self.page.locator("#hand button")

    def card(self, name: str) -> Locator:
        """One of the own cards: "3 de paus"."""
        return self.page.locator("#hand").get_by_role("button", name=name)

    def call(self, text: str) -> Locator:
        """What can be said: "truco!", "Aceito"."""
        return self.page.locator(".actions").get_by_role("button", name=re.compile(text, re.IGNORECASE))

    def says(self, text: str) -> None:
        """The line that says what the game waits for says *text*."""
        expect(self.page.locator(".now")).to_contain_text(text)

    def was_told(self, text: str) -> None:
        """Those who listen heard *text*."""
        expect(self.page.locator("#said")).to_contain_text(text)

    def score(self, text: str) -> None:
        expect(self.page.locator(".bar .score")).to_have_attribute("aria-label", text)

    # ---- what came, and what is drawn ----

    def _keep_heard(self) -> None:
        self._heard += self.page.evaluate("window.__heard ?? []")

    def heard(self) -> list[Body]:
        """All that the API sent to this page so far: `{url, text}`."""
        return [*self._heard, *self.page.evaluate("window.__heard")]

    def views(self) -> Iterator[Body]:
        """Every view of a game that came, from whatever door."""
        for body in self._bodies():
            if "legal_actions" in body:
                yield body
            elif isinstance(body.get("game"), dict):
                yield body["game"]

    def view_at(self, version: int) -> Body:
        """The view of *version*, which comes or has come."""
        self.page.wait_for_function(
            'version => window.__heard.some(({ text }) => text.includes(`"version":${version},`))',
            arg=version,
            polling=50,
        )
        return next(view for view in self.views() if view["version"] == version)

    def events(self) -> Iterator[Body]:
        for body in self._bodies():
            yield from body.get("events", ())
            if "seq" in body:
                yield body

    def sent_since(self, version: int) -> str:
        """All views and events from *version* on, as JSON."""
        return json.dumps([sent for sent in (*self.views(), *self.events()) if sent["version"] >= version])

    def _bodies(self) -> Iterator[Body]:
        for entry in self.heard():
            if entry["url"].endswith("/stream"):
                for data in re.findall(r"^data: (.*)$", entry["text"], re.MULTILINE):
                    yield json.loads(data)
            elif entry["text"]:
                yield json.loads(entry["text"])

    def drawn(self) -> str:
        """The page's elements as text, without the story of what was said before."""
        html: str = self.page.evaluate(
            """() => {
              const page = document.documentElement.cloneNode(true);
              for (const said of page.querySelectorAll(".lines, #said, .now [aria-hidden]")) said.remove();
              return page.outerHTML;
            }"""
        )
        return html

    def shoot(self, name: str) -> None:
        """A picture, if somebody asked for pictures."""
        if SHOTS is not None:
            self.page.screenshot(path=Path(SHOTS) / f"{name}.png")

    def close(self) -> None:
        """Also says that nothing went wrong in this browser, and that it asked nobody else."""
        self.context.close()
        assert not self.complaints, self.complaints
        assert {url for url in self.requested if not url.startswith((self._url, "blob:"))} == set()
