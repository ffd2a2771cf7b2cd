"""Writes words with the stems that Snowball's own stemmers have for them.

    full_text_stems.py fixtures FOLDER DATA WORDS…   writes english-stems.txt and german-stems.txt
    full_text_stems.py all LANGUAGE DATA WORDS…      prints each word and its stem

DATA is the folder with the films, and WORDS are word lists, such as /usr/share/dict/american-english
and /usr/share/dict/ngerman. The stemmers are those of the Python package snowballstemmer 3.1.1.
The fixtures have a sample of the words: some of each change at the end, of each last four
letters, and of each first three.
"""

import collections
import json
import pathlib
import re
import sys

import snowballstemmer

LIMIT = {"english": 4500, "german": 5000}


def words(data, lists):
    found = set()
    for path in lists:
        found.update(pathlib.Path(path).read_text(encoding="utf-8").lower().split())
    for path in sorted(pathlib.Path(data).glob("movies/*.json")):
        for film in json.loads(path.read_text(encoding="utf-8")):
            text = " ".join([film["title"], *film["cast"], film.get("extract") or ""])
            found.update(re.findall(r"\w+(?:'\w+)*", text.lower().replace("’", "'")))
    return sorted(word for word in found if len(word.encode()) < 60)


def chosen(language, all_words, stemmer):
    """Words by the suffix that they lose and what is put in its place: some of each kind."""
    kinds = collections.defaultdict(list)
    for word in all_words:
        stem = stemmer.stemWord(word)
        same = 0
        while same < min(len(word), len(stem)) and word[same] == stem[same]:
            same += 1
        kinds[(word[same - 1:], stem[same - 1:])].append(word)
        kinds[(word[-4:], stem[-2:])].append(word)
        kinds[(word[:3], len(word) < 7)].append(word)
    picked, round_ = [], 0
    seen = set()
    order = sorted(kinds.items(), key=lambda kind: (-len(kind[1]), str(kind[0])))
    while len(picked) < LIMIT[language] and round_ < 3:
        for _, members in order:
            word = members[len(members) * round_ // 3]
            if word not in seen and len(picked) < LIMIT[language]:
                seen.add(word)
                picked.append(word)
        round_ += 1
    return sorted(picked)


def main():
    if sys.argv[1] == "all":
        stemmer = snowballstemmer.stemmer(sys.argv[2])
        for word in words(sys.argv[3], sys.argv[4:]):
            print(word, stemmer.stemWord(word))
        return
    folder, data, lists = pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
    for language in ("english", "german"):
        mine = [path for path in lists if ("german" in path) == (language == "german")]
        stemmer = snowballstemmer.stemmer(language)
        lines = [f"{word} {stemmer.stemWord(word)}"
                 for word in chosen(language, words(data, mine), stemmer)]
        head = "# Words and their stems in Snowball 3.1.1 (BSD licence, https://snowballstem.org)\n"
        (folder / f"{language}-stems.txt").write_text(head + "\n".join(lines) + "\n")


main()
