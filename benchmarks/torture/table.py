"""The table of a campaign, for the terminal and for the docs."""

from typing import Any

HARM = {
    "lost": "lost",
    "phantom": "phantom",
    "wrong": "silently wrong",
    "crashes": "crashes",
    "raw": "raw exceptions",
    "broken": "other broken promises",
}


def lines(campaign: dict[str, Any]) -> list[str]:
    """Markdown: one row per attack, their sum, then of each its facts, failures and gaps."""
    attacks = campaign["attacks"].values()
    rows = [
        f"| attack | attempts | {' | '.join(HARM.values())} | s |",
        f"| --- |{' ---: |' * (len(HARM) + 2)}",
    ]
    for one in attacks:
        of_all = "" if one["attempts"] >= one["wanted"] else f" of {one['wanted']:,}"
        attempts = f"{one['attempts']:,}{of_all} {one['unit']}"
        rows.append(_row(one["title"], attempts, [one[kind] for kind in HARM], one["seconds"]))
    sums = [sum(one[kind] for one in attacks) for kind in HARM]
    rows.append(_row("**all**", f"{sum(one['attempts'] for one in attacks):,}", sums, campaign["seconds"]))
    rows.append("")
    for one in attacks:
        if one["facts"]:
            facts = "; ".join(f"{name}: {value:,}" for name, value in one["facts"].items())
            rows.append(f"- {one['title']}: {facts}.")
        rows += [f"- **{one['title']}, {sentence}**" for sentence in one["failures"]]
        rows += [f"- **{one['title']}, incomplete: {sentence}**" for sentence in one.get("incomplete", ())]
    return rows


def is_incomplete(one: dict[str, Any]) -> bool:
    """Whether an attack ended before all attempts, or could not judge all that it is for."""
    return one["attempts"] < one["wanted"] or bool(one.get("incomplete"))


def _row(title: str, attempts: str, counts: list[int], seconds: float) -> str:
    return f"| {' | '.join([title, attempts, *(f'{count:,}' for count in counts), f'{seconds:,.0f}'])} |"
