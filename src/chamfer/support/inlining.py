"""One script out of several JavaScript modules, for a page that must work as a single file.

A browser loads no module from a file on disk, so imports between modules become plain references. Only what our modules
use is understood, and everything else is refused: ``import {a, b} from "./c.js"`` and ``export`` before a function, a
constant or a class, at the beginning of a line.
"""

import re
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter

IMPORT = re.compile(r'^import \{\s*([\w$,\s]*?)\s*\} from "\./([\w.-]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?function\*? ([\w$]+)|const ([\w$]+) |class ([\w$]+))", re.MULTILINE)
NOTHING = re.compile(r"^export \{\};$", re.MULTILINE)
LEFT = re.compile(r"^\s*(?:import|export)\b.*$|\bimport\s*[.(]", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def inlined(entry: str, read: Callable[[str], str]) -> str:
    r"""Return one script that does what a module and those that it imports do.

    Args:
        entry: name of the module.
        read: returns the source of a module by its name.

    >>> modules = {"a.js": 'import { b } from "./b.js";\nb();\n', "b.js": "export function b() {}\n"}
    >>> print(inlined("a.js", modules.__getitem__))
    "use strict";
    const modules = {};
    // b.js
    modules["b.js"] = (() => {
    function b() {}
    return { b };
    })();
    // a.js
    modules["a.js"] = (() => {
    const { b } = modules["b.js"];
    b();
    return {  };
    })();
    """
    sources, needed = dict[str, str](), dict[str, list[str]]()
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        if name not in sources:
            sources[name] = read(name)
            needed[name] = [found for _, found in IMPORT.findall(sources[name])]
            waiting += needed[name]
    try:
        order = list(TopologicalSorter(needed).static_order())
    except CycleError as error:
        raise ValueError(f"modules import each other: {' -> '.join(error.args[1])}") from error
    parts = [_wrapped(name, sources[name]) for name in order]
    # These would end the script element, or begin a comment in it; in strings and patterns, they mean the same so.
    return "\n".join(['"use strict";\nconst modules = {};', *parts]).replace("</", "<\\/").replace("<!--", "<\\!--")


def _reference(found: re.Match[str]) -> str:
    names = re.sub(r"\s+as\s+", ": ", found[1])
    return f'const {{ {names} }} = modules["{found[2]}"];'


def _wrapped(name: str, source: str) -> str:
    """A module as an expression that runs it and has its exports."""
    exports = [next(filter(None, found)) for found in EXPORT.findall(source)]
    body = NOTHING.sub("", EXPORT.sub("", IMPORT.sub(_reference, source)))
    left = LEFT.search(COMMENT.sub("", body))
    if left is not None:
        raise ValueError(f"{name} has an import or export that cannot be inlined: {left[0].strip()}")
    return f'// {name}\nmodules["{name}"] = (() => {{\n{body.strip()}\nreturn {{ {", ".join(exports)} }};\n}})();'
