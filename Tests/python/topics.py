"""Checks that a module's page lists each of its public types under Topics, once.

    topics.py PAGE GRAPH      fails if a top-level type of the symbol graph is missing, or is listed twice
"""

import json
import re
import sys

TYPES = ("struct", "class", "enum", "protocol", "typealias", "actor")


def main():
    page, graph = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        topics = file.read().split("\n## Topics\n", 1)[1]
    listed = re.findall(r"^- ``([^`]+)``$", topics, re.MULTILINE)
    with open(graph, encoding="utf-8") as file:
        symbols = json.load(file)["symbols"]
    types = {
        symbol["pathComponents"][0]
        for symbol in symbols
        if len(symbol["pathComponents"]) == 1
        and symbol["kind"]["identifier"].split(".")[-1] in TYPES
        and not symbol["pathComponents"][0].startswith("_")
    }
    missing = sorted(types - set(listed))
    repeated = sorted({name for name in listed if listed.count(name) > 1})
    for name in missing:
        print(f"{page}: {name} is not under Topics")
    for name in repeated:
        print(f"{page}: {name} is under Topics twice")
    sys.exit(1 if missing or repeated else 0)


main()
