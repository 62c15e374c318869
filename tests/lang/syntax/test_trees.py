"""The cache of syntax trees: its key has everything that a tree depends on."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gradcli import limits
from gradcli.errors import LanguageError, LimitError
from gradcli.lang.syntax import parser
from gradcli.limits import Limits
from gradcli.source import Source

#: a text that is refused under bounds that are tighter in one of them
REFUSED = {
    "source": ("1 + 2 + 3", 5),
    "nesting": ("[[[1]]]", 2),
    "digits": ("1" * 700, 640),
    "blocks": ("if 1:\n if 2:\n  pass\n", 1),
}


@pytest.fixture(autouse=True)
def _bounds():
    before = limits.current
    yield
    limits.use(before)


def parse(text: str, start: str, name: str = "<text>", **bounds: float):
    limits.use(Limits(**bounds))
    return parser.parse_expression(Source(name, text)) if start == "expression" else parser.parse_file(Source(name, text), reuse=True)


@pytest.mark.parametrize("bound", REFUSED)
def test_a_tree_made_under_other_bounds_is_not_taken(bound):
    text, tight = REFUSED[bound]
    start = "file" if "\n" in text else "expression"
    first = parse(text, start)
    with pytest.raises(LimitError) as refused:
        parse(text, start, **{bound: tight})
    assert refused.value.limit == bound
    assert parse(text, start) is first


def test_the_name_of_the_source_is_part_of_the_key():
    for name in ("<value of x>", "<expression>", "<value of y>"):
        assert parse("x + name_of_source", "expression", name).source.name == name


def test_the_start_symbol_is_part_of_the_key():
    file = parse("x + start_symbol", "file")
    assert parse("x + start_symbol", "expression") is not file
    parse("y = 1", "file")
    with pytest.raises(LanguageError):
        parse("y = 1", "expression")


def test_a_file_is_parsed_anew_unless_its_tree_may_be_used_again():
    source = Source("<file>", "a = b + 1")
    trees = [parser.parse_file(source), parser.parse_file(source), parser.parse_file(source, reuse=True)]
    assert all(a is not b for a, b in pairwise(trees))
    assert parser.parse_file(source, reuse=True) is trees[-1]


def test_few_trees_of_short_texts_are_kept():
    trees = parser.Trees()
    first = Source("<0>", "x")
    kept = trees.tree(first, "expression_only")
    assert trees.tree(first, "expression_only") is kept
    for i in range(trees.MOST):
        trees.tree(Source("<many>", f"x + {i}"), "expression_only")
    assert trees.tree(first, "expression_only") is not kept
    long = Source("<long>", "x" * (trees.LONGEST + 1))
    assert trees.tree(long, "expression_only") is not trees.tree(long, "expression_only")


def test_the_texts_that_are_kept_are_bounded_together():
    trees = parser.Trees()
    size = trees.LONGEST
    made = [trees.tree(Source("<large>", f"x{i:0{size - 1}}"), "expression_only") for i in range(trees.MOST_CHARACTERS // size + 1)]
    assert trees.tree(made[0].source, "expression_only") is not made[0]
    assert trees.tree(made[-1].source, "expression_only") is made[-1]
