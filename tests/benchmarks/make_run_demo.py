"""Writes the corpus and the queries of handbooks/run-demo: every answer is computed from the facts given here.

python tests/benchmarks/make_run_demo.py handbooks/run-demo
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

SEED = 20260222
TRAIN = {"direct": 8, "arithmetic": 8, "dates": 6, "lookup": 10, "lookup-compute": 12}
TEST = {"direct": 12, "arithmetic": 11, "dates": 9, "lookup": 16, "lookup-compute": 16}

NAMES = (  # noqa: SIM905 - a list of words is easier to read in one text
    "Aldrava Belmoor Corwick Drenholm Elsavir Farrowin Galdrun Hestmark Ilvane Jorvik-Lo Kestrin Lomarra "
    "Morvath Nethering Oskarra Pellworth Quillan Rostova-Ney Sundral Tavenor Ulmere Vandrik Westrel Yarrowen"
).split(" ")
EXPORTS = (  # noqa: SIM905
    "smoked eel,sea salt,amber,cork,linen,honey,slate,kelp soap,pearls,cider,wool,tar,saffron,copper wire,"
    "glass beads,dried figs,beeswax,oak barrels,peat,sail cloth,mustard,whale bone,chalk,lavender oil"
).split(",")
KEEPERS = (  # noqa: SIM905
    "Ansel Brook,Berta Quist,Carlo Wenn,Dagny Orr,Edric Faye,Freya Lund,Gustav Pell,Hilda Marsh,Ivo Tarn,"
    "Jana Holt,Kaspar Dean,Lotte Vane,Magnus Reed,Nora Skye,Olaf Birch,Petra Lowe,Quentin Moss,Rosa Thorn,"
    "Sven Hale,Tilda Crane,Ulf Stone,Vera Knott,Wilma Ash,Yngve Dale"
).split(",")
DIRECT = (
    ("What is the capital of France?", "Paris"),
    ("What is the capital of Japan?", "Tokyo"),
    ("What is the capital of Italy?", "Rome"),
    ("What is the capital of Egypt?", "Cairo"),
    ("What is the capital of Canada?", "Ottawa"),
    ("Which planet is known as the Red Planet?", "Mars"),
    ("What is the largest planet of the solar system?", "Jupiter"),
    ("What gas do plants take in from the air for photosynthesis?", "carbon dioxide"),
    ("Who wrote the play Hamlet?", "Shakespeare"),
    ("Who painted the Mona Lisa?", "Vinci"),
    ("What is the chemical symbol of gold?", "Au"),
    ("What is the chemical symbol of sodium?", "Na"),
    ("In which country is the Taj Mahal?", "India"),
    ("Which language is spoken in Brazil?", "Portuguese"),
    ("What is the opposite of the word hot?", "cold"),
    ("What colour do you get when you mix blue and yellow paint?", "green"),
    ("Which ocean lies between Europe and North America?", "Atlantic"),
    ("Which animal is called the king of the jungle?", "lion"),
    ("What is the frozen form of water called?", "ice"),
    ("Which continent is the country Kenya in?", "Africa"),
)


class Island(NamedTuple):
    """The facts of one invented island."""

    name: str
    people: int
    built: int
    height: int
    ticket: int
    export: str
    keeper: str
    boats: int


class Item(NamedTuple):
    """A query with its answer."""

    query: str
    reference: str
    rule: str


def make_islands(rng: random.Random) -> list[Island]:
    """Return all islands."""
    return [
        Island(
            name,
            people=rng.randrange(210, 9_800, 10) + rng.randrange(1, 9),
            built=rng.randrange(1781, 1939),
            height=rng.randrange(14, 61),
            ticket=rng.randrange(11, 48),
            export=export,
            keeper=keeper,
            boats=rng.randrange(6, 95),
        )
        for name, export, keeper in zip(NAMES, EXPORTS, KEEPERS, strict=True)
    ]


def render_island(island: Island) -> str:
    """Return the document about an island."""
    return (
        f"# {island.name}\n\n"
        f"{island.name} has {island.people} inhabitants and a fishing fleet of {island.boats} boats. "
        f"Its main export is {island.export}.\n\n"
        f"The lighthouse of {island.name} was built in {island.built} and is {island.height} metres high. "
        f"Its keeper is {island.keeper}.\n\n"
        f"A ferry ticket to {island.name} costs {island.ticket} crowns.\n"
    )


def make_arithmetic(rng: random.Random) -> Iterator[Item]:
    """Yield sums of several steps."""
    while True:
        a, b, c, d = (rng.randrange(12, 98) for _ in range(4))
        forms: list[tuple[str, int]] = [
            (f"What is {a} times {b} minus {c * 7}?", a * b - c * 7),
            (f"Compute ({a} + {b}) * {c} - {d}.", (a + b) * c - d),
            (
                f"A crate holds {a} boxes of {b} screws. After {c} screws are lost from {d} crates, how many are left?",
                a * b * d - c,
            ),
            (f"What is the sum of the squares of {a}, {b} and {c}?", a * a + b * b + c * c),
            (f"What is the remainder when {a * b * c} is divided by {d}?", a * b * c % d),
        ]
        query, answer = rng.choice(forms)
        yield Item(f"{query} Answer with the number only.", str(answer), "numeric")


def make_dates(rng: random.Random) -> Iterator[Item]:
    """Yield questions about the calendar."""
    while True:
        first = date(rng.randrange(1995, 2031), rng.randrange(1, 13), rng.randrange(1, 29))
        days = rng.randrange(37, 420)
        second = first + timedelta(days=days)
        forms = [
            (f"How many days are there from {first} to {second}? Answer with the number only.", str(days), "numeric"),
            (f"What day of the week was {first}? Answer with the name of the day.", first.strftime("%A"), "contains"),
            (f"Which date is {days} days after {first}? Answer in the form YYYY-MM-DD.", str(second), "contains"),
        ]
        yield Item(*rng.choice(forms))


def make_lookups(rng: random.Random, islands: list[Island]) -> Iterator[Item]:
    """Yield questions that the corpus answers."""
    forms: list[Callable[[Island], Item]] = [
        lambda i: Item(f"What is the main export of {i.name}?", i.export, "contains"),
        lambda i: Item(f"Who is the keeper of the lighthouse of {i.name}?", i.keeper, "contains"),
        lambda i: Item(f"In which year was the lighthouse of {i.name} built?", str(i.built), "numeric"),
        lambda i: Item(f"How many inhabitants does {i.name} have?", str(i.people), "numeric"),
        lambda i: Item(f"How many crowns does a ferry ticket to {i.name} cost?", str(i.ticket), "numeric"),
    ]
    pairs = [(form, island) for form in forms for island in islands]
    rng.shuffle(pairs)
    for form, island in pairs:
        item = form(island)
        yield item._replace(query=f"{item.query} Answer with {'the number' if item.rule == 'numeric' else 'it'} only.")


def make_computed_lookups(rng: random.Random, islands: list[Island]) -> Iterator[Item]:
    """Yield questions that need facts of the corpus and a computation with them."""
    while True:
        one, two = rng.sample(islands, 2)
        n, year = rng.randrange(12, 89), rng.randrange(1960, 2026)
        forms = [
            (f"How many crowns do {n} ferry tickets to {one.name} cost together?", n * one.ticket),
            (f"How old was the lighthouse of {one.name} in the year {year}, in years?", year - one.built),
            (
                f"How many years lie between the building of the lighthouses of {one.name} and {two.name}?",
                abs(one.built - two.built),
            ),
            (f"If every boat of the fleet of {one.name} carries {n} nets, how many nets are there?", n * one.boats),
            (
                f"How many crowns do {n} tickets to {one.name} and {n} to {two.name} cost?",
                n * (one.ticket + two.ticket),
            ),
        ]
        query, answer = rng.choice(forms)
        yield Item(f"{query} Answer with the number only.", str(answer), "numeric")


def write_queries(path: Path, sources: dict[str, Iterator[Item]], counts: dict[str, int], seen: set[str]) -> None:
    """Write the next queries of each task, none of them twice."""
    lines: list[dict[str, Any]] = []
    for task, count in counts.items():
        made = 0
        while made < count:
            item = next(sources[task])
            if item.query in seen:
                continue
            seen.add(item.query)
            made += 1
            name = f"{path.stem}-{task}-{made:02d}"
            scoring = {"rule": item.rule}
            lines.append(
                {"id": name, "query": item.query, "task": task, "reference": item.reference, "scoring": scoring}
            )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def main() -> None:
    """Write everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("handbook", type=Path)
    root = parser.parse_args().handbook
    rng = random.Random(SEED)  # noqa: S311 - the same facts every time
    islands = make_islands(rng)
    for island in islands:
        (root / "corpus" / f"{island.name.lower()}.md").write_text(render_island(island), encoding="utf-8")
    direct = list(DIRECT)
    rng.shuffle(direct)
    sources: dict[str, Iterator[Item]] = {
        "direct": (Item(f"{query} Answer briefly.", answer, "contains") for query, answer in direct),
        "arithmetic": make_arithmetic(rng),
        "dates": make_dates(rng),
        "lookup": make_lookups(rng, islands),
        "lookup-compute": make_computed_lookups(rng, islands),
    }
    seen: set[str] = set()
    write_queries(root / "data" / "train.jsonl", sources, TRAIN, seen)
    write_queries(root / "data" / "test.jsonl", sources, TEST, seen)


if __name__ == "__main__":
    main()
