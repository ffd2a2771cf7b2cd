"""Checks that the pages of a catalogue list under Topics, once, what they have to.

    topics.py CATALOGUE GRAPHS…

`CATALOGUE/MODULE.md`, where MODULE is the name of the catalogue, lists each public type. A page of a type in
`CATALOGUE/Extensions` lists each public member of that type, all overloads of it.
"""

import collections
import json
import pathlib
import re
import sys

TYPES = ("struct", "class", "enum", "protocol", "typealias", "actor")


def listed(page):
    """The links under Topics, without what tells overloads apart."""
    topics = page.read_text(encoding="utf-8").split("\n## Topics\n", 1)[1]
    links = re.findall(r"^- ``([^`]+)``$", topics, re.MULTILINE)
    return [re.sub(r"(?<=.)-[a-z0-9]+$", "", link) for link in links], links


def main():
    catalogue = pathlib.Path(sys.argv[1])
    types, members = set(), collections.defaultdict(list)
    for graph in sys.argv[2:]:
        for symbol in json.loads(pathlib.Path(graph).read_text(encoding="utf-8"))["symbols"]:
            path = symbol["pathComponents"]
            # What a type gets from a protocol of the standard library is not written here.
            if "::SYNTHESIZED" in symbol["identifier"]["precise"]:
                continue
            if len(path) == 1 and symbol["kind"]["identifier"].split(".")[-1] in TYPES:
                types.add(path[0])
            elif len(path) == 2:
                members[path[0]].append(path[1])
    wanted = {catalogue / f"{catalogue.stem}.md": sorted(t for t in types if not t.startswith("_"))}
    for page in sorted(catalogue.glob("Extensions/*.md")):
        wanted[page] = members[page.stem]
    status = 0
    for page, names in wanted.items():
        found, links = listed(page)
        missing = collections.Counter(names) - collections.Counter(found)
        repeated = collections.Counter(links) - collections.Counter(set(links))
        for name in sorted(missing):
            print(f"{page}: {name} is not under Topics, or an overload of it is not")
        for name in sorted(repeated):
            print(f"{page}: {name} is under Topics twice")
        if missing or repeated:
            status = 1
    sys.exit(status)


main()
