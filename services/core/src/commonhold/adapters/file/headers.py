"""The YAML above a document: loaded within bounds, and written so that it comes back.

What a short text may stand for by way of aliases, merges and cycles is more than a process
holds, so it is weighed as it is spelled, before anything is made of it.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from commonhold.adapters.file.faults import RowFaultError
from commonhold.contract.extras import MOST_EXTRA_LEVELS, MOST_EXTRA_VALUES, RESERVED_KEYS

# What a YAML constructor raises, besides its own errors, for what only looks like a value.
_MALFORMED = (
    yaml.YAMLError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
# A line break to YAML, and inside a quoted text therefore a space.
_FOLDED = re.compile("[\x85\u2028\u2029]")

# The one in C where the library has it: the same loader, ten times as fast.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_BOUNDLESS = (MOST_EXTRA_VALUES + 1, MOST_EXTRA_LEVELS + 1)


class _Dumper(yaml.SafeDumper):
    """Each value written out where it stands, and every text so that it comes back."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - yaml's signature
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        style = '"' if _FOLDED.search(data) else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def load_mapping(header: bytes, *, drops_unbounded: bool = False) -> Mapping[str, Any]:
    """The keys of a header; RowFaultError for what is none, or is beyond the limits of `extra`.

    With `drops_unbounded` the keys beyond those limits are left out: no call reads them.
    """
    try:
        loader = _Loader(header.decode())
        try:
            node = loader.get_single_node()
            if isinstance(node, yaml.MappingNode):
                node.value = list(_bounded(node, drops_unbounded=drops_unbounded))
            loaded = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except UnicodeDecodeError:
        raise RowFaultError("envelope is not UTF-8") from None
    except _MALFORMED:
        raise RowFaultError("invalid envelope YAML") from None
    if not isinstance(loaded, dict):
        raise RowFaultError("envelope is not a mapping")
    return loaded


def dump_mapping(mapping: Mapping[Any, Any]) -> str:
    dumped: str = yaml.dump(
        mapping,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=math.inf,
    )
    return dumped


def _bounded(
    root: yaml.MappingNode, *, drops_unbounded: bool
) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    weights = _Weights()
    for key, value in root.value:
        try:
            weights.take(key, value)
        except RowFaultError:
            if not drops_unbounded:
                raise
        else:
            yield key, value


class _Weights:
    """How many values the nodes of a header stand for, each node looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int]] = {}
        self._left = MOST_EXTRA_VALUES

    def take(self, key: yaml.Node, value: yaml.Node) -> None:
        """RowFaultError where a key and its value are more than is left to `extra`."""
        # A key that is a text does not count.
        values = self._weigh(key, level=1)[0] + self._weigh(value, level=1)[0] - 1
        if key.value not in RESERVED_KEYS:
            if values > self._left:
                raise RowFaultError("envelope holds too many values")
            self._left -= values

    def _weigh(self, node: yaml.Node, *, level: int) -> tuple[int, int]:
        """The values and the levels of a node, neither counted far beyond its limit."""
        if id(node) not in self._known and level <= MOST_EXTRA_LEVELS:
            # There is no end to what leads back to itself.
            self._known[id(node)] = _BOUNDLESS
            inside = [self._weigh(one, level=level + 1) for one in _inside(node)]
            self._known[id(node)] = (
                min(_BOUNDLESS[0], 1 + sum(values for values, _ in inside)),
                1 + max((levels for _, levels in inside), default=0),
            )
        values, levels = self._known.get(id(node), _BOUNDLESS)
        if level + levels - 1 > MOST_EXTRA_LEVELS:
            raise RowFaultError("envelope is nested too deep")
        return values, levels


def _inside(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                yield key
            yield value
