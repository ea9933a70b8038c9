"""Sentences of a Markdown file, each with the line on which it begins."""

import re
from typing import NamedTuple


class Sentence(NamedTuple):
    """One sentence without its markup."""

    line: int
    text: str


def sentences(markdown: str) -> list[Sentence]:
    """Sentences of prose, bullets and quotations; code, comments, headings, tables and links' targets are left out."""
    plain = re.sub(r"^(```|~~~).*?^\1[^\n]*$|<!--.*?-->", _blank, markdown, flags=re.DOTALL | re.MULTILINE)
    found = []
    for number, block in _blocks(plain):
        for part in re.finditer(r"\S.*?(?:[.!?;](?=\s|$)|$(?![\s\S]))", block, flags=re.DOTALL):
            text = _unmarked(part.group())
            if text:
                found.append(Sentence(number + block[: part.start()].count("\n"), text))
    return found


def _blank(match: re.Match[str]) -> str:
    """As many lines, and nothing on them, so that numbers of lines stay."""
    return "\n" * match.group().count("\n")


def _blocks(text: str) -> list[tuple[int, str]]:
    """Paragraphs and items of lists, with the number of their first line."""
    found: list[tuple[int, str]] = []
    fresh, depth = True, 0
    for number, line in enumerate(text.splitlines(), 1):
        quoted, words = _unquoted(line)
        fresh, depth = fresh or quoted != depth, quoted
        item = re.match(r"(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?", words)
        if not words.strip() or re.match(r"#|\||[-=*_]{3,}\s*$", words):
            fresh = True
        elif item or fresh:
            found.append((number, words[item.end() if item else 0 :]))
            fresh = False
        else:
            start, before = found[-1]
            found[-1] = (start, f"{before}\n{words}")
    return found


def _unquoted(line: str) -> tuple[int, str]:
    """How deep a line is quoted, and the line without the marks."""
    marks = re.match(r"\s*(?:>\s*)*", line)
    end = marks.end() if marks else 0
    return line[:end].count(">"), line[end:]


def _unmarked(text: str) -> str:
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(?<!\w)_([^_]+)_(?!\w)", r"\1", re.sub(r"[*`]|__", "", text))
    return " ".join(text.split())
