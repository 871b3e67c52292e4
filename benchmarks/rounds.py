"""Figures as a reader wants them: the median of the rounds, and how far they lie apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median


@dataclass
class Rounds:
    """One figure, once a round."""

    figures: list[float] = field(default_factory=list)

    def add(self, figure: float) -> None:
        self.figures.append(figure)

    @property
    def median(self) -> float:
        return median(self.figures)

    def text(self, digits: int = 0, unit: str = "") -> str:
        """The median and, in brackets, the lowest and the highest."""
        low, middle, high = (f"{figure:,.{digits}f}" for figure in (min(self.figures), self.median, max(self.figures)))
        return f"{middle}{unit} ({low}–{high})"

    def ratio_to(self, other: Rounds) -> Rounds:
        """Round by round, so that what slows the machine for a while slows both."""
        return Rounds([mine / theirs for mine, theirs in zip(self.figures, other.figures, strict=True)])
