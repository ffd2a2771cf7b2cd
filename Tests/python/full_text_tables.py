"""Writes the tables and fixtures of full-text search from Unicode's data files.

    full_text_tables.py tables UNICODE FOLDER    writes WordBreakData.swift and FoldingData.swift
    full_text_tables.py fixtures UNICODE FOLDER  writes the expected forms that tests compare with
    full_text_tables.py check UNICODE            compares the normalisation here with Unicode's test

UNICODE is the folder of the data files, such as /usr/share/unicode of Debian's package unicode-data.
FOLDER is Sources/Divan/FullText/Unicode, or Tests/Fixtures/fulltext.
"""

import bz2
import pathlib
import re
import sys

# 64 characters: the first half ends a number, the second half has five more bits following.
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"

WORD_BREAK = [
    "Other", "CR", "LF", "Newline", "Extend", "ZWJ", "Format", "Regional_Indicator", "Katakana",
    "Hebrew_Letter", "ALetter", "Single_Quote", "Double_Quote", "MidNumLet", "MidLetter", "MidNum",
    "Numeric", "ExtendNumLet", "WSegSpace",
]
PICTOGRAPH, WORD, N_GRAM = 0x20, 0x40, 0x80
# Scripts whose words have no spaces between them, and which dictionaries split elsewhere.
N_GRAM_SCRIPTS = {"Han", "Hiragana", "Thai", "Lao", "Khmer", "Myanmar", "Tai_Le", "New_Tai_Lue",
                  "Tai_Tham", "Tai_Viet"}
PROLONGED_SOUND_MARKS = (0x30FC, 0xFF70)
YPOGEGRAMMENI, IOTA = 0x345, 0x3B9


def number(value):
    text = ""
    while value >= 32:
        text += DIGITS[32 + (value & 31)]
        value >>= 5
    return text + DIGITS[value]


def signed(value):
    return number(2 * value if value >= 0 else -2 * value - 1)


class UnicodeFiles:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        first = self.text("auxiliary/WordBreakTest.txt").split("\n", 1)[0]
        self.version = re.search(r"-([0-9.]+)\.txt", first).group(1)

    def text(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def ranges(self, name, value=None):
        """The ranges of a file with lines `first..last ; value ; …`, as (first, last, fields)."""
        for line in self.text(name).split("\n"):
            fields = [field.strip() for field in line.split("#", 1)[0].split(";")]
            if len(fields) < 2 or (value is not None and fields[1] != value):
                continue
            first, _, last = fields[0].partition("..")
            yield int(first, 16), int(last or first, 16), fields[1:]

    def characters(self):
        """The lines of UnicodeData.txt, ranges as a whole."""
        first = None
        for line in self.text("UnicodeData.txt").split("\n"):
            fields = line.split(";")
            if len(fields) < 15:
                continue
            scalar = int(fields[0], 16)
            if fields[1].endswith(", First>"):
                first = scalar
                continue
            yield (scalar if first is None else first), scalar, fields
            first = None


class Normalisation:
    """Unicode's normalisation and case folding, in the plainest form, as the model of the tests."""

    def __init__(self, files):
        self.classes, self.canonical = {}, {}
        for first, last, fields in files.characters():
            if fields[3] != "0":
                for scalar in range(first, last + 1):
                    self.classes[scalar] = int(fields[3])
            if fields[5] and not fields[5].startswith("<"):
                self.canonical[first] = [int(part, 16) for part in fields[5].split()]
        excluded = set()
        for first, last, _ in files.ranges("DerivedNormalizationProps.txt",
                                           "Full_Composition_Exclusion"):
            excluded.update(range(first, last + 1))
        self.pairs = {tuple(parts): scalar for scalar, parts in self.canonical.items()
                      if len(parts) == 2 and scalar not in excluded}
        self.folded = {}
        for first, last, fields in files.ranges("DerivedNormalizationProps.txt", "NFKC_CF"):
            for scalar in range(first, last + 1):
                self.folded[scalar] = [int(part, 16) for part in fields[1].split()]

    def decomposed(self, scalar):
        if 0xAC00 <= scalar < 0xAC00 + 11172:
            index = scalar - 0xAC00
            parts = [0x1100 + index // 588, 0x1161 + index % 588 // 28]
            return parts + ([0x11A7 + index % 28] if index % 28 else [])
        if scalar not in self.canonical:
            return [scalar]
        return [part for each in self.canonical[scalar] for part in self.decomposed(each)]

    def ordered(self, scalars):
        result = list(scalars)
        for index in range(len(result)):
            here = index
            own = self.classes.get(result[here], 0)
            while own and here > 0 and self.classes.get(result[here - 1], 0) > own:
                result[here - 1], result[here] = result[here], result[here - 1]
                here -= 1
        return result

    def nfd(self, scalars):
        return self.ordered([part for scalar in scalars for part in self.decomposed(scalar)])

    def compose(self, first, second):
        if 0x1100 <= first < 0x1113 and 0x1161 <= second < 0x1176:
            return 0xAC00 + ((first - 0x1100) * 21 + second - 0x1161) * 28
        if (0xAC00 <= first < 0xAC00 + 11172 and (first - 0xAC00) % 28 == 0
                and 0x11A8 <= second < 0x11C3):
            return first + second - 0x11A7
        return self.pairs.get((first, second))

    def nfc(self, scalars):
        result, starter, last_class = [], None, 0
        for scalar in self.nfd(scalars):
            own = self.classes.get(scalar, 0)
            if starter is not None and (last_class == 0 and starter == len(result) - 1
                                        or last_class and last_class < own):
                composite = self.compose(result[starter], scalar)
                if composite is not None:
                    result[starter] = composite
                    continue
            if own == 0:
                starter = len(result)
            last_class = own
            result.append(scalar)
        return result

    def fold(self, scalars):
        """Unicode's toNFKC_Casefold of the canonical decomposition."""
        return self.nfc([part for scalar in self.nfd(scalars)
                         for part in self.folded.get(scalar, [scalar])])


def word_break_values(files):
    values = [0] * 0x110000
    for first, last, fields in files.ranges("auxiliary/WordBreakProperty.txt"):
        values[first:last + 1] = [WORD_BREAK.index(fields[0])] * (last - first + 1)
    for first, last, fields in files.characters():
        if fields[2][0] in "LN":
            for scalar in range(first, last + 1):
                values[scalar] |= WORD
    for first, last, _ in files.ranges("emoji/emoji-data.txt", "Extended_Pictographic"):
        for scalar in range(first, last + 1):
            values[scalar] |= PICTOGRAPH
    for first, last, _ in files.ranges("emoji/emoji-data.txt", "Emoji_Presentation"):
        for scalar in range(first, last + 1):
            values[scalar] |= WORD
    for first, last, fields in files.ranges("Scripts.txt"):
        if fields[0] in N_GRAM_SCRIPTS:
            for scalar in range(first, last + 1):
                if values[scalar] == WORD:
                    values[scalar] |= N_GRAM
    for scalar in PROLONGED_SOUND_MARKS:
        values[scalar] |= N_GRAM
    return values


def range_table(values):
    text, end, start = "", 0, 0
    while start < len(values):
        value, stop = values[start], start + 1
        while stop < len(values) and values[stop] == value:
            stop += 1
        if value:
            text += number(start - end) + number(stop - start - 1) + number(value)
            end = stop
        start = stop
    return text


def folding_table(model):
    """Runs of scalars with the same fold: their gap, twice their length and one if it is a run."""
    text, end, scalar = "", 0, 0
    folds = {}
    for scalar in set(model.folded) | set(model.canonical):
        if scalar == YPOGEGRAMMENI or 0xAC00 <= scalar < 0xAC00 + 11172:
            continue
        parts = []
        for part in model.decomposed(scalar):
            parts += [part] if part == YPOGEGRAMMENI else [
                each for one in model.folded.get(part, [part]) for each in model.decomposed(one)]
        if parts != [scalar]:
            folds[scalar] = parts
    scalars = sorted(folds)
    index = 0
    while index < len(scalars):
        first = scalars[index]
        count = 1
        while (index + count < len(scalars) and scalars[index + count] == first + count
               and folds[first + count] == folds[first]):
            count += 1
        text += number(first - end) + number(2 * len(folds[first]) + (count > 1))
        if count > 1:
            text += number(count)
        origin = first
        for part in folds[first]:
            text += signed(part - origin)
            origin = part
        end = first + count
        index += count
    return text


def composition_table(model):
    text, last = "", 0
    for (first, second), composite in sorted(model.pairs.items()):
        text += number(first - last) + number(second) + signed(composite - first)
        last = first
    return text


def swift_text(name, summary, text):
    lines = [text[start:start + 92] for start in range(0, len(text), 92)]
    body = "\n".join("    " + line for line in lines)
    return f'  /// {summary}\n  static let {name} = """\n{body}\n    """\n'


def write_tables(files, folder):
    model = Normalisation(files)
    head = (f"// Made by Tests/python/full_text_tables.py from the data of Unicode {files.version}. "
            "Do not edit.\n\n")
    classes = [model.classes.get(scalar, 0) for scalar in range(0x110000)]
    (folder / "WordBreakData.swift").write_text(
        head + "/// The scalars' properties for splitting text into words.\nenum WordBreakData {\n"
        + swift_text("ranges", "Ranges for ``ScalarTable``; the values are ``WordBreakProperties``.",
                     range_table(word_break_values(files))) + "}\n")
    (folder / "FoldingData.swift").write_text(
        head + "/// The tables of normalisation, for ``FoldingTables``.\nenum FoldingData {\n"
        + swift_text("folds", "What scalars are folded to, decomposed.", folding_table(model)) + "\n"
        + swift_text("classes", "Ranges of canonical combining classes.", range_table(classes)) + "\n"
        + swift_text("compositions", "Pairs of scalars, and what they are composed to.",
                     composition_table(model)) + "}\n")


def spelled(scalars):
    return " ".join(f"{scalar:04X}" for scalar in scalars)


def normalisation_lines(files):
    lines = bz2.decompress((files.folder / "NormalizationTest.txt.bz2").read_bytes()).decode()
    part = None
    for line in lines.split("\n"):
        if line.startswith("@Part"):
            part = int(line[5])
        fields = line.split("#", 1)[0].split(";")
        if len(fields) >= 5:
            yield part, [[int(each, 16) for each in field.split()] for field in fields[:5]]


def write_fixtures(files, folder):
    model = Normalisation(files)
    tests = [line.split("#", 1)[0].strip() for line in
             files.text("auxiliary/WordBreakTest.txt").split("\n")]
    tests = [line.replace("÷", "|").replace("×", "x") for line in tests if line]
    head = f"# From Unicode {files.version}, © Unicode, Inc. (https://www.unicode.org/terms_of_use.html)\n"
    (folder / "word-breaks.txt").write_text(head + "\n".join(tests) + "\n")
    # All folds of single scalars that are not themselves, as the file of Unicode has them.
    folds, runs = sorted(model.folded.items()), []
    for scalar, parts in folds:
        if runs and runs[-1][1] + 1 == scalar and runs[-1][2] == parts:
            runs[-1][1] = scalar
        else:
            runs.append([scalar, scalar, parts])
    (folder / "folds.txt").write_text(head + "\n".join(
        (f"{first:04X}" if first == last else f"{first:04X}-{last:04X}") + ";" + spelled(parts)
        for first, last, parts in runs) + "\n")
    # Part 1 has each composite scalar, which the folds above have, too: every eighth is enough.
    chosen = [lines for index, (part, lines) in enumerate(normalisation_lines(files))
              if part in (0, 3) or index % 8 == 0]
    (folder / "normalisation.txt").write_text(head + "\n".join(
        ";".join([spelled(lines[0]), spelled(lines[2]), spelled(lines[4]),
                  spelled(model.fold(lines[0]))]) for lines in chosen) + "\n")


def check(files):
    model = Normalisation(files)
    count = 0
    for _, (source, nfc, nfd, nfkc, nfkd) in normalisation_lines(files):
        assert model.nfc(source) == model.nfc(nfd) == nfc, spelled(source)
        assert model.nfd(source) == model.nfd(nfc) == nfd, spelled(source)
        folded = model.fold(source)
        assert all(model.fold(each) == folded for each in (nfc, nfd, nfkc, nfkd)), spelled(source)
        count += 1
    print(f"{count} lines of Unicode {files.version}'s normalisation test agree")


def main():
    files = UnicodeFiles(sys.argv[2])
    if sys.argv[1] == "check":
        check(files)
    elif sys.argv[1] == "tables":
        write_tables(files, pathlib.Path(sys.argv[3]))
    else:
        write_fixtures(files, pathlib.Path(sys.argv[3]))


main()
