"""Which code no test runs, and whether that is explained.

usage: coverage.py EXPORT.json EXCEPTIONS.txt ROOT FOLDER...

EXPORT.json is what `llvm-cov export` prints (`swift test --enable-code-coverage` makes it). Every
region of code under the folders that was never run must be explained: by being the message of a
precondition, which no data can break, or by a line of EXCEPTIONS.txt,

    file name | function | why no test can run it

Each line explains one region of the function, with the regions in it.

What only some runs of the tests run, since it needs a race, is explained by a reason that begins with
`race:`; it may have been run or not. Besides, every case of the errors that `ERRORS` names must be made somewhere in code that was run.

Prints the figures, what is unexplained, explanations that explain nothing, and errors that no test
reached; exits with 1 if there is any of the latter three.
"""

import collections
import json
import os
import re
import sys

Region = collections.namedtuple("Region", "path line column end_line end_column")

# Where the cases of an error are declared, how one is declared, and how one is made.
ERRORS = [
    ("Sources/Divan/Errors/DatabaseError.swift", r"static let (\w+) = Self\(",
     "Sources/Divan/", r"(?:DatabaseError|self\.init)\(\s*\.%s\b|\(\.%s, |return \.%s$"),
    ("Sources/DivanLog/Log/LogError.swift", r"^  case (\w+)",
     "Sources/DivanLog/", r"throw \.%s\b|\(nil, \.%s\("),
]

ADVICE = """
What to do:
- Code that no test ran: write a test of the behaviour that needs it. Delete it if nothing does. If no
  test can run it, say why in {exceptions}, in a line for each place
      file name | function | why no test can run it
  and if some runs of the tests do and others do not, begin the reason with `race:`.
- An explanation of code that was run, or is gone: delete it, or name the function as it is called now.
- An error that nothing makes: write a test that meets it, or delete it."""


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


def text_of(region, lines):
    """The source of a region."""
    if region.line == region.end_line:
        return lines[region.line - 1][region.column - 1:region.end_column - 1]
    return "\n".join(
        [lines[region.line - 1][region.column - 1:]] + lines[region.line:region.end_line - 1]
        + [lines[region.end_line - 1][:region.end_column - 1]])


def holds(outer, inner):
    """Whether a region lies within another."""
    return (outer.path == inner.path
            and (outer.line, outer.column) <= (inner.line, inner.column)
            and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column))


def errors_not_made(counts, root, lines_of):
    """The cases of errors that nothing that was run makes."""
    missing, total = [], 0
    for declared_in, declaration, folder, pattern in ERRORS:
        names = re.findall(declaration, "\n".join(lines_of(declared_in)), re.MULTILINE)
        total += len(names)
        for name in names:
            making = re.compile(pattern.replace("%s", name), re.MULTILINE)
            if not any(was_run(making, path, counts, lines_of)
                       for path in {region.path for region in counts} | sources(root, folder)):
                missing.append(f"{os.path.basename(declared_in)}: {name}")
    if total == 0:
        sys.exit("no errors are declared where they should be")
    return missing, total


def sources(root, folder):
    return {os.path.relpath(os.path.join(path, name), root)
            for path, _, names in os.walk(os.path.join(root, folder))
            for name in names if name.endswith(".swift")}


def was_run(making, path, counts, lines_of):
    """Whether a place in a file that matches was run: the smallest region around it was."""
    text = "\n".join(lines_of(path))
    for match in making.finditer(text):
        # The name stands at the end of what matches; the call may begin on an earlier line.
        line = text.count("\n", 0, match.end()) + 1
        column = match.end() - (text.rfind("\n", 0, match.end()) + 1)
        place = Region(path, line, column, line, column)
        around = [region for region in counts if holds(region, place)]
        if around and counts[max(around, key=lambda region: (
                region.line, region.column, -region.end_line, -region.end_column))] > 0:
            return True
    return False


def is_of_precondition(region, lines):
    """Whether a region lies within the arguments of a precondition, which are looked at only where
    it is broken, or is a branch that does nothing but say that one is."""
    if re.match(r"(\{|case [^:]*:|default:)?\s*preconditionFailure\(", text_of(region, lines)):
        return True
    place = (region.line, region.column)
    for line in range(max(1, region.line - 5), region.line + 1):
        for match in re.finditer(r"\b(precondition|preconditionFailure|assert)\(", lines[line - 1]):
            if (line, match.end()) <= place <= end_of_call(lines, line, match.end()):
                return True
    return False


def end_of_call(lines, line, column):
    """Where the parenthesis is closed that was opened before a place."""
    depth = 1
    while line <= len(lines):
        for column in range(column, len(lines[line - 1])):
            depth += {"(": 1, ")": -1}.get(lines[line - 1][column], 0)
            if depth == 0:
                return line, column + 1
        line, column = line + 1, 0
    return line, column


MODIFIERS = (r"(?:(?:@[\w()]+|public|package|internal|private|fileprivate|static|final|override|mutating|consuming"
             r"|borrowing|nonisolated|convenience|required|class) )*")
FUNCTION = re.compile(r"( *)" + MODIFIERS
                      + r"(?:func ([^\s(<]+)|(init|deinit|subscript)\b|(?:var|let) (\w+)[^=]*\{)")


def function_of(region, lines):
    """The name of the function, initializer or property that a region is in."""
    own = len(lines[region.line - 1]) - len(lines[region.line - 1].lstrip())
    for number in range(region.line - 1, -1, -1):
        match = FUNCTION.match(lines[number])
        if match and (len(match[1]) < own or number == region.line - 1):
            return match[2] or match[3] or match[4]
    return ""


def is_declared(name, file, root):
    """Whether a function of a name is declared in a file of a name."""
    for path in sources(root, "Sources"):
        if os.path.basename(path) == file:
            with open(os.path.join(root, path)) as text:
                return any((match := FUNCTION.match(line)) and name in match.groups() for line in text)
    return False


def exceptions(path):
    explained = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 3:
                sys.exit(f"{path}:{number}: not `file name | function | why`")
            explained.append(parts)
    return explained


def main():
    export_path, exceptions_path, root, *folders = sys.argv[1:]
    with open(export_path) as file:
        export = json.load(file)
    lines_of = source(root)
    # What follows the end of a loop that never ends is a region without any code.
    counts = {
        region: count
        for region, count in regions(export, os.path.realpath(root), folders).items()
        if count > 0 or text_of(region, lines_of(region.path)).strip("{} \n")
    }
    all_counts = regions(export, os.path.realpath(root), ["Sources/Divan"])
    explained = exceptions(exceptions_path)
    used = set()
    missed, shown, messages, excused = [], [], 0, 0
    outermost, explained_regions = None, []
    for region in sorted((region for region, count in counts.items() if count == 0),
                         key=lambda region: (*region[:3], -region.end_line, -region.end_column)):
        lines = lines_of(region.path)
        if is_of_precondition(region, lines):
            messages += 1
            continue
        if any(holds(outer, region) for outer in explained_regions):
            excused += 1
            continue
        key = (os.path.basename(region.path), function_of(region, lines))
        reason = next((index for index, (file, function, _) in enumerate(explained)
                       if (file, function) == key and index not in used), None)
        if reason is not None:
            used.add(reason)
            explained_regions.append(region)
            excused += 1
            continue
        # The widest region that was not run says it all; those within it follow from it.
        if outermost is None or not holds(outermost, region):
            outermost = region
            shown.append(region)
        missed.append(region)
    total = len(counts)
    covered = sum(1 for count in counts.values() if count > 0)
    print(f"{covered} of {total} regions were run ({100 * covered / max(1, total):.1f} %); "
          f"{messages} are messages of preconditions, {excused} are explained, "
          f"{len(missed)} are neither.")
    for region in shown:
        lines = lines_of(region.path)
        print(f"{region.path}:{region.line}:{region.column}-{region.end_line}:{region.end_column}: "
              f"no test ran this, in {function_of(region, lines)}: {lines[region.line - 1].strip()[:90]}")
    idle = [(file, function) for index, (file, function, reason) in enumerate(explained)
            if index not in used
            and not (reason.startswith("race:") and is_declared(function, file, root))]
    for file, function in idle:
        print(f"{exceptions_path}: explained, but run or gone: {file} | {function}")
    not_made, error_count = errors_not_made(all_counts, root, lines_of)
    print(f"{error_count - len(not_made)} of {error_count} cases of errors were made.")
    for name in not_made:
        print(f"an error that nothing makes that was run: {name}")
    if missed or idle or not_made or total == 0:
        print(ADVICE.format(exceptions=exceptions_path))
        sys.exit(1)


main()
