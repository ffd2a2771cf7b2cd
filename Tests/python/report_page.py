"""Checks a page of `logdump report`, and screenshots of it. See Tests/report-screenshot.

    report_page.py elements PAGE SEGMENTS        the page's elements, with a bar for each segment
    report_page.py image PNG WIDTH,HEIGHT light|dark
"""

import html.parser
import struct
import sys
import zlib

SECTIONS = {
    "files", "segments", "time", "retention", "documents", "attachments", "indexes", "revisions",
    "damage",
}


class Page(html.parser.HTMLParser):
    """Counts the elements of a page."""

    def __init__(self):
        super().__init__()
        self.sections = []
        self.bars = {}
        self.names = {}
        self.links = []
        self.ids = []

    def handle_starttag(self, name, attributes):
        attributes = dict(attributes)
        self.names[name] = self.names.get(name, 0) + 1
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if name == "section":
            self.sections.append(attributes.get("id"))
        if name == "svg":
            if attributes.get("role") != "img" or not attributes.get("aria-label"):
                fail("an image has no label")
            if attributes.get("class") == "bar" and self.sections:
                self.bars[self.sections[-1]] = self.bars.get(self.sections[-1], 0) + 1
        if name == "a":
            self.links.append(attributes.get("href", ""))
        for key in attributes:
            if key.startswith("on") or key == "src":
                fail(f"the page has an attribute {key}")


def fail(text):
    print(f"report_page.py: {text}", file=sys.stderr)
    sys.exit(1)


def check_elements(path, segments):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    page = Page()
    page.feed(source)
    if set(page.sections) != SECTIONS or len(page.sections) != len(SECTIONS):
        fail(f"the sections are {page.sections}")
    if page.bars.get("segments") != segments:
        fail(f"there are {page.bars.get('segments')} bars for {segments} segments")
    if page.names.get("script"):
        fail("the page has a script")
    if page.names.get("caption") != page.names.get("table"):
        fail("a table has no caption")
    for link in page.links:
        if not link.startswith("#") or link[1:] not in page.ids:
            fail(f"the link {link} leads nowhere")
    if len(source.encode()) > 1_000_000:
        fail("the page is larger than 1 MB")
    print(f"{len(page.sections)} sections, {segments} segments, {page.names['svg']} images: as expected.")


def pixels(path):
    """Returns the width, the height, and the rows of a PNG of 8 bits for each of 3 or 4 channels."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        fail(f"{path} is no PNG")
    offset, compressed = 8, b""
    while offset < len(data):
        size, kind = struct.unpack(">I4s", data[offset:offset + 8])
        body = data[offset + 8:offset + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            compressed += body
        offset += size + 12
    channels = {2: 3, 6: 4}.get(color)
    if depth != 8 or channels is None:
        fail(f"{path} has pixels of another form")
    raw = zlib.decompress(compressed)
    stride = width * channels
    rows, above = [], bytearray(stride)
    for start in range(0, len(raw), stride + 1):
        above = unfiltered(raw[start], bytearray(raw[start + 1:start + 1 + stride]), above, channels)
        rows.append(above)
    return width, height, rows, channels


def unfiltered(kind, row, above, channels):
    """Reverses the filter of a row."""
    for index in range(len(row)):
        left = row[index - channels] if index >= channels else 0
        if kind == 1:
            row[index] = row[index] + left & 255
        elif kind == 2:
            row[index] = row[index] + above[index] & 255
        elif kind == 3:
            row[index] = row[index] + (left + above[index]) // 2 & 255
        elif kind == 4:
            corner = above[index - channels] if index >= channels else 0
            guess = left + above[index] - corner
            nearest = min((abs(guess - left), 0, left), (abs(guess - above[index]), 1, above[index]),
                          (abs(guess - corner), 2, corner))
            row[index] = row[index] + nearest[2] & 255
    return row


def check_image(path, size, scheme):
    width, height, rows, channels = pixels(path)
    if f"{width},{height}" != size:
        fail(f"{path} is {width},{height} and not {size}")
    counts = {}
    for row in rows[::4]:
        for start in range(0, len(row), channels * 2):
            color = bytes(row[start:start + 3])
            counts[color] = counts.get(color, 0) + 1
    if len(counts) < 50:
        fail(f"{path} has only {len(counts)} colors")
    main = max(counts, key=counts.get)
    if counts[main] > 0.98 * sum(counts.values()):
        fail(f"{path} is nearly blank")
    if (sum(main) > 3 * 128) != (scheme == "light"):
        fail(f"{path} is not {scheme}")
    print(f"{path}: {width} x {height}, {scheme}, {len(counts)} colors.")


if len(sys.argv) == 4 and sys.argv[1] == "elements":
    check_elements(sys.argv[2], int(sys.argv[3]))
elif len(sys.argv) == 5 and sys.argv[1] == "image":
    check_image(*sys.argv[2:])
else:
    print(__doc__, file=sys.stderr)
    sys.exit(64)
