"""Which code no test runs, and whether that is explained.

usage: coverage.py EXPORT.json EXCEPTIONS.txt ROOT FOLDER...

EXPORT.json is what `llvm-cov export` prints (`swift test --enable-code-coverage` makes it). Every
region of code under the folders that was never run must be explained: by being the message of a
precondition, which no data can break, or by a line of EXCEPTIONS.txt,

    path | a piece of the source line | why no test can run it

Prints the figures, what is unexplained, and explanations that explain nothing; exits with 1 if
there is any of the latter two.
"""

import collections
import json
import os
import re
import sys

Region = collections.namedtuple("Region", "path line column end_line end_column")


def regions(export, root, folders):
    """How often each region of code was run, over all instantiations of its function."""
    counts = collections.Counter()
    for function in export["data"][0]["functions"]:
        for region in function["regions"]:
            line, column, end_line, end_column, count, file, _, kind = region
            path = os.path.relpath(function["filenames"][file], root)
            if kind == 0 and any(path.startswith(folder) for folder in folders):
                counts[Region(path, line, column, end_line, end_column)] += count
    return counts


def source(root, cache={}):
    def lines(path):
        if path not in cache:
            with open(os.path.join(root, path)) as file:
                cache[path] = file.read().split("\n")
        return cache[path]
    return lines


def is_message_of_precondition(region, lines):
    """Whether a region is (part of) the text of a precondition, or code that only follows a
    broken one."""
    start = region.line - 1
    for back in range(0, 4):
        if start - back < 0:
            break
        text = lines[start - back]
        if re.search(r"\b(precondition|preconditionFailure|assert)\(", text):
            return True
        if back > 0 and (text.rstrip().endswith(("{", "}")) or not text.strip()):
            break
    # `guard … else { preconditionFailure("…") }`
    body = "\n".join(lines[region.line - 1:region.end_line])
    return "preconditionFailure(" in body


def exceptions(path):
    explained = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 3:
                sys.exit(f"{path}:{number}: not `path | piece of the line | why`")
            explained.append(parts)
    return explained


def main():
    export_path, exceptions_path, root, *folders = sys.argv[1:]
    with open(export_path) as file:
        counts = regions(json.load(file), os.path.realpath(root), folders)
    lines_of = source(root)
    explained = exceptions(exceptions_path)
    used = set()
    missed, messages, excused = [], 0, 0
    for region in sorted(region for region, count in counts.items() if count == 0):
        lines = lines_of(region.path)
        # The widest region that was not run says it all; those within it follow from it.
        if is_message_of_precondition(region, lines):
            messages += 1
            continue
        text = "\n".join(lines[region.line - 1:region.end_line])
        reasons = [index for index, (path, piece, _) in enumerate(explained)
                   if path == region.path and piece in text]
        if reasons:
            used.update(reasons)
            excused += 1
            continue
        missed.append(region)
    total = len(counts)
    covered = sum(1 for count in counts.values() if count > 0)
    print(f"{covered} of {total} regions were run ({100 * covered / max(1, total):.1f} %); "
          f"{messages} are messages of preconditions, {excused} are explained, "
          f"{len(missed)} are neither.")
    for region in missed:
        lines = lines_of(region.path)
        print(f"  {region.path}:{region.line}:{region.column}-{region.end_line}: "
              f"{lines[region.line - 1].strip()[:90]}")
    idle = [explained[index] for index in range(len(explained)) if index not in used]
    for path, piece, _ in idle:
        print(f"  explained, but run or gone: {path} | {piece}")
    if missed or idle or total == 0:
        sys.exit(1)


main()
