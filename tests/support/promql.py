"""Which metrics and labels an expression of Prometheus names, by their spelling."""

import re
from collections.abc import Iterator

from tests.support.markdown import literals, reference, tables

_NAME = re.compile(r"(?<![:\w\"./-])(commonhold_[a-z_]+)(?![:\w])(?:\{([^}]*)\})?")
_RECORDED = re.compile(r"(?<!\w)[a-z_]+:commonhold_[a-z_]+:[a-z0-9_]+")
_MATCHER = re.compile(r"([a-z_]+)\s*(?:=~|!~|!=|=)")
_GROUPING = re.compile(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_SUFFIXES = ("_bucket", "_count", "_sum")
# What the scrape adds, and what a histogram's buckets have.
_SCRAPED = {"job", "instance", "pod", "namespace", "le"}


def metrics_of(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each metric that the expression names, with the labels that it matches."""
    for name, matchers in _NAME.findall(expression):
        yield name, set(_MATCHER.findall(matchers))


def recorded_in(expression: str) -> set[str]:
    return set(_RECORDED.findall(expression))


def grouped_in(expression: str) -> set[str]:
    names = (name.strip() for found in _GROUPING.findall(expression) for name in found.split(","))
    return {name for name in names if name}


def described_metrics() -> dict[str, tuple[str, set[str]]]:
    """Return the type and labels of every metric of the reference, which is the registry's."""
    rows = next(iter(tables(reference("metrics.md"))))
    return {literals(row[0])[0]: (row[1], set(filter(None, row[2].split(", ")))) for row in rows}


def faults_of(expression: str) -> list[str]:
    """Say what the expression names that no service has."""
    known = described_metrics()
    faults = []
    for name, matched in metrics_of(expression):
        base = _family(name, known)
        if base is None:
            faults.append(f"no metric {name}")
        elif unknown := matched - known[base][1] - _SCRAPED:
            faults.append(f"{name} has no label {', '.join(sorted(unknown))}")
    labels = set().union(*(each for _type, each in known.values())) | _SCRAPED
    return [*faults, *(f"no label {name}" for name in sorted(grouped_in(expression) - labels))]


def _family(name: str, known: dict[str, tuple[str, set[str]]]) -> str | None:
    """Return the metric that a series belongs to: a histogram has three kinds of them."""
    if name in known:
        return name if known[name][0] != "histogram" else None
    for suffix in _SUFFIXES:
        base = name.removesuffix(suffix)
        if base != name and known.get(base, ("", set()))[0] == "histogram":
            return base
    return None
