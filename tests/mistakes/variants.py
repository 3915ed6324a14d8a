"""The single-statement mistakes that are tried."""
import collections
import re

import statements

# what: for people. before and after: the text to put around the statement; the first # is the mistake's number.
Mistake = collections.namedtuple("Mistake", "start end what before after")

_LONGEST = 600  # characters

# Changes nothing that a test should see, or cannot be chosen at run time.
_LEFT_OUT = re.compile(r"^(CHECK|DCHECK|LOG|VLOG|ABSL_|ASSIGN_OR_RETURN|static_assert|using|typedef|asm|__asm|\(void\))")
_COMPOUND = re.compile(r"^(if|for|while|switch|do|else|case|default|\})")
_LAMBDA = re.compile(r"\[[^\]]*\]\s*(\(|\{)")

_CHANGES = [
    (r"&&", "||"), (r"\|\|", "&&"), (r"==", "!="), (r"!=", "=="), (r"<=", "<"), (r">=", ">"),
    (r"(?<= )<(?= )", "<="), (r"(?<= )>(?= )", ">="), (r"(?<= )\+(?= )", "-"), (r"(?<= )-(?= )", "+"),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"std::min\b", "std::max"), (r"std::max\b", "std::min"),
    (r"\+\+", "--"), (r"\+=", "-="), (r"-=", "+="), (r"!(?=[\w(])", ""),
    (r"(?<![\w.'\"<:])\d+(?![\w.'\"])", lambda found: str(int(found.group()) + 1)),
]


def _changed(text, quoted):
    """Yields (what, text) with one operator or constant changed, for each of them."""
    for pattern, new in _CHANGES:
        for found in re.finditer(pattern, text):
            if any(quoted[found.start():found.end()]):
                continue
            to = new(found) if callable(new) else new
            line = text[:found.start()] + to + text[found.end():]
            yield f"{found.group()} becomes {to or 'nothing'}", re.sub(r"\s*\n\s*", " ", line)


def _of_condition(statement, text, quoted):
    # What declares a variable cannot be written twice.
    if re.search(r"[;{]", text) or re.match(r"^(const )?(auto|[\w:]+)[&* ]+\w+ = ", text):
        return
    for what, changed in [*_changed(text, quoted), ("negated", f"!({text})")]:
        yield Mistake(*statement[:2], what, f"corral_mistake(#) ? static_cast<bool>({changed}) : static_cast<bool>(", ")")


def _of_initializer(statement, text, quoted):
    for what, changed in _changed(text, quoted):
        yield Mistake(*statement[:2], what, f"corral_mistake(#) ? ({changed}) : (", ")")


def _of_statement(statement, text, quoted):
    if _COMPOUND.match(text):
        return
    # Without its last return, a function has no defined behaviour.
    if not text.startswith("return") or text == "return" or statement.nested:
        yield Mistake(*statement[:2], "deleted", "if (!corral_mistake(#)) ", "")
    if not _LAMBDA.search(text):
        for what, changed in _changed(text, quoted):
            yield Mistake(*statement[:2], what, f"if (corral_mistake(#)) {{ {changed}; }} else ", "")


_OF = {"condition": _of_condition, "initializer": _of_initializer, "statement": _of_statement}


def mistakes(text):
    """Returns the mistakes of a source by statement: a list of lists."""
    code, quoted = statements.without_comments(text)
    found = []
    for each in statements.statements(text):
        part = code[each.start:each.end]
        if part.strip() and len(part) <= _LONGEST and not _LEFT_OUT.match(part):
            found.append(list(_OF[each.kind](each, part, quoted[each.start:each.end])))
    return [each for each in found if each]
