"""Finds the statements of C++ sources that clang-format laid out.

It reads brackets and semicolons, not C++: what it takes for a statement and is none does not compile with a mistake in,
and such a mistake is left out.
"""
import collections
import re

# kind: "statement", "condition" (of an if or a while) or "initializer". nested: inside an if, a loop or a case.
Statement = collections.namedtuple("Statement", "start end kind nested")

_SCOPE = re.compile(r"^(namespace|class|struct|enum|union|extern)\b[^(]*$")
_CONTROL = re.compile(r"^((case [^:]*|default):(?!:)\s*)*(else|if|for|while|switch|do)\b")
_FUNCTION = re.compile(r"(\)|\]|const|noexcept|override|mutable|->\s*[\w:<>,\s*&]+|ABSL_\w+\([^()]*\))\s*$")
_LAMBDA = re.compile(r"\[[^\[\]]*\]\s*(\([^{}]*\))?[^()]*$")
_LABEL = re.compile(r"(case [^;{}]*?[\w)']:(?!:)\s*|default:\s*)+")
_DECLARATION = re.compile(
    r"^(?!return\b|delete\b)(const |constexpr |static |auto |unsigned )*"
    r"[\w:]+(<.*>)?(::\w+)*\s*[*&]*\s+[*&]*(\w+|\[[\w, ]+\])\s*(=|\(|\{|$|\[)", re.S)


def without_comments(text):
    """Returns the text with comments and preprocessor lines blanked, and 1 for each character inside quotes."""
    out, quoted, i = list(text), bytearray(len(text)), 0

    def blank(begin, end):
        for k in range(begin, end):
            if out[k] != "\n":
                out[k] = " "

    def end_of(found):
        return len(text) if found < 0 else found

    while i < len(text):
        begin, line = i, text.rfind("\n", 0, i) + 1
        if text.startswith("//", i):
            i = end_of(text.find("\n", i))
            blank(begin, i)
        elif text.startswith("/*", i):
            i = text.index("*/", i) + 2
            blank(begin, i)
        elif text[i] == "#" and not text[line:i].strip():
            i = end_of(text.find("\n", i))
            while text[i - 1] == "\\":
                i = end_of(text.find("\n", i + 1))
            blank(begin, i)
        elif text.startswith('R"', i) and not (text[i - 1].isalnum() or text[i - 1] == "_"):
            opened = text.index("(", i)
            closing = ")" + text[i + 2:opened] + '"'
            i = text.index(closing, opened) + len(closing)
            quoted[begin:i] = b"\1" * (i - begin)
        elif text[i] == '"' or (text[i] == "'" and not text[i - 1].isalnum()):
            i += 1
            while text[i] != text[begin]:
                i += 2 if text[i] == "\\" else 1
            i += 1
            quoted[begin:i] = b"\1" * (i - begin)
        else:
            i += 1
    return "".join(out), quoted


class _Frame:
    """A bracket that is open. kind: "scope", "code", "control" (code of an if, a loop, a case), "list" or "parenthesis"."""

    def __init__(self, kind, begin):
        self.kind = kind
        self.begin = begin  # of the statement that is read

    def is_code(self):
        return self.kind in ("code", "control")


def _kind_of_block(frame, head):
    if frame.kind == "scope":
        if head == "" or _SCOPE.match(head):
            return "scope"
        return "code" if _FUNCTION.search(head) else "list"
    if frame.is_code():
        if head == "" or re.search(r":\s*$", head) or _CONTROL.match(head):
            return "control"
        if _SCOPE.match(head):
            return "scope"
        return "code" if _FUNCTION.search(head) else "list"
    return "code" if _FUNCTION.search(head) and _LAMBDA.search(head) else "list"


def _condition(code, quoted, begin, end):
    """The condition that ends at the parenthesis `end` if the statement from `begin` is an if or a while."""
    head = re.match(r"\s*(\}?\s*else\s+)?(if|while)\s*\(", code[begin:end])
    if head is None:
        return None
    start, depth = begin + head.end(), 1
    for k in range(start, end):
        if not quoted[k]:
            depth += {"(": 1, ")": -1}.get(code[k], 0)
        if depth == 0:
            return None
    return Statement(start, end, "condition", False)


def _statement(code, frame, end):
    text = code[frame.begin:end]
    start = frame.begin + len(text) - len(text.lstrip())
    label = _LABEL.match(code[start:end])
    if label:
        start += label.end()
    nested = frame.kind == "control"
    if not _DECLARATION.match(code[start:end]):
        return Statement(start, end, "statement", nested)
    value = re.match(r"^[^={(]*\s=\s", code[start:end])
    if value is None or "{" in code[start:end] or code[start:end].startswith("static"):
        return None
    return Statement(start + value.end(), end, "initializer", nested)


def statements(text):
    """Yields the statements inside the functions of a source."""
    code, quoted = without_comments(text)
    frames = [_Frame("scope", 0)]
    for i, c in enumerate(code):
        frame = frames[-1]
        if quoted[i]:
            continue
        found = None
        if c in "([":
            frames.append(_Frame("parenthesis", i + 1))
        elif c in ")]" and frame.kind == "parenthesis":
            frames.pop()
            if c == ")" and frames[-1].is_code():
                found = _condition(code, quoted, frames[-1].begin, i)
        elif c == "{":
            frames.append(_Frame(_kind_of_block(frame, code[frame.begin:i].strip()), i + 1))
        elif c == "}" and len(frames) > 1:
            frames.pop()
            # A lambda inside a statement does not end it.
            continues = code[i + 1:].lstrip()[:1] in (",", ";", ")", ".", "(")
            if frame.kind != "list" and frames[-1].kind != "parenthesis" and not continues:
                frames[-1].begin = i + 1
        elif c == ";" and frame.kind != "parenthesis":
            found = _statement(code, frame, i) if frame.is_code() else None
            frame.begin = i + 1
        if found is not None:
            yield found
