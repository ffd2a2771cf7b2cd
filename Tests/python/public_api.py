"""Lists the public declarations of a module, from its symbol graphs, and compares the list with a file.

    public_api.py check FILE CHANGELOG GRAPH...     fails if the list in FILE is another one
    public_api.py update FILE CHANGELOG GRAPH...    writes FILE; fails if CHANGELOG does not mention a change

FILE may be two, joined by a plus sign: then the second one has what the first one has not.

A change of the public API must be in the section "Unreleased" of the changelog. The first line of FILE has the
checksum of that section as it was at the last change, so that a change without a new entry is noticed.
"""

import hashlib
import json
import re
import sys

# Protocols that types conform to without saying so, or that others include.
IMPLIED = {"Copyable", "Escapable", "SendableMetatype", "BitwiseCopyable", "Sequence", "Collection",
           "BidirectionalCollection", "SetAlgebra"}


def declarations(paths):
    """The declarations by their path, one for each line, in order."""
    lines = set()
    # The names of declared types by identifier, and the protocols that each conforms to.
    types = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            graph = json.load(file)
        for symbol in graph["symbols"]:
            names = symbol["pathComponents"]
            if symbol["accessLevel"] not in ("public", "open"):
                continue
            if "::SYNTHESIZED::" in symbol["identifier"]["precise"]:
                continue
            if any(name.startswith("_") for name in names):
                continue
            text = "".join(each["spelling"] for each in symbol["declarationFragments"])
            # A nested type can see its outer type by two paths, and the compiler prints either.
            text = re.sub(r"\b(\w+)(?:\.\w+)*\.\1\b", r"\1", text)
            lines.add(f"{'.'.join(names[:-1]) or '-'}: {' '.join(text.split())}")
            types[symbol["identifier"]["precise"]] = (".".join(names), set())
        for each in graph["relationships"]:
            if each["kind"] == "conformsTo" and each["source"] in types:
                protocol = each.get("targetFallback") or types.get(each["target"], ("",))[0]
                name = protocol.rpartition(".")[2]
                if name and name not in IMPLIED and not name.startswith("_"):
                    types[each["source"]][1].add(name)
    for name, protocols in types.values():
        if protocols & {"Hashable", "Comparable"}:
            protocols.discard("Equatable")
        if protocols:
            lines.add(f"{name}: conforms to {', '.join(sorted(protocols))}")
    return sorted(lines)


def unreleased(path):
    """The checksum of the changelog's section of unreleased changes."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    start = text.index("\n## Unreleased")
    end = text.find("\n## ", start + 1)
    section = text[start:] if end < 0 else text[start:end]
    return hashlib.sha256(section.encode()).hexdigest()[:16]


def main():
    command, path, changelog, *graphs = sys.argv[1:]
    found = declarations(graphs)
    if "+" in path:
        other, path = path.split("+")
        with open(other, encoding="utf-8") as file:
            common = set(file.read().splitlines())
        found = [line for line in found if line not in common]
    try:
        with open(path, encoding="utf-8") as file:
            first, *known = file.read().splitlines()
    except FileNotFoundError:
        first, known = "", []
    if found == known:
        return 0
    if command == "check":
        for line in sorted(set(known) - set(found)):
            print(f"- {line}")
        for line in sorted(set(found) - set(known)):
            print(f"+ {line}")
        print(f"The public API is not what {path} says: describe the change in {changelog}, and run `make api`.")
        return 1
    mark = f"# CHANGELOG, Unreleased: {unreleased(changelog)}"
    if mark == first:
        print(f"Describe the change of the public API in {changelog} first.", file=sys.stderr)
        return 1
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([mark] + found) + "\n")
    print(f"{path}: {len(found)} declarations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
