from random import Random

from service.engine.actions import Action, legal_actions
from service.engine.view import PlayerView


class Bot:
    description = "plays."

    def decide(self, view: PlayerView, rng: Random) -> Action:
        return rng.choice(legal_actions(view))


BOTS = {"easy": Bot(), "medium": Bot(), "hard": Bot()}
