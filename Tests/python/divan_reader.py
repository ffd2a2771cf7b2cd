#!/usr/bin/env python3
"""Reads a Divan store from its segments alone and prints its documents as JSON Lines.

Checkpoints and the files of views are derived from the segments, and left alone.

Written from docs/FILE_FORMAT.md and nothing else, with the standard library only, so that the page
is known to be complete. Section numbers are those of the page.

Usage: divan_reader.py STORE
Exit status: 0 sound, 1 usage, 2 torn tail, 3 damage, 4 unreadable, 5 newer format.
"""

import os
import re
import struct
import sys

MAGIC = bytes.fromhex("89444956 0D0A1A0A")
BLOCK_SIZE = 4096
ZEROS_AHEAD = 16384
HEAD_SIZE = 256
MARK_SIZE = 256
MARK_OFFSETS = (0, 4096, 8192)
FRAME_HEADER_SIZE = 32
FRAME_MAGIC = b"vFRM"
PAYLOAD_LIMIT = 33_554_432
RECORD_LIMIT = 25_165_824
TRAILER_SIZE = 48
TRANSACTION, COMPACTED, FOOTER = 1, 3, 4
FRAME_TYPES = {1, 3, 4, 5, 6}
FIRST, LAST = 1, 2
DOCUMENT, PURGE, INDEX = 1, 4, 8
# Commit marks, attachments, local documents, named snapshots, moments: not printed.
OTHER_KINDS = {2, 3, 5, 6, 7}
DEPTH_LIMIT = 100
COUNTER_LIMIT = 1 << 60


class Damage(Exception):
    """Bytes are not what was written."""


class Newer(Exception):
    """A newer version wrote this."""


class Foreign(Exception):
    """This is no store, or no file of it."""


# CRC-32C and varints: the head of the page.


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = _crc_table()


def crc32c(*parts, continuing=0):
    crc = continuing ^ 0xFFFFFFFF
    table = CRC_TABLE
    for part in parts:
        for byte in part:
            crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Reader:
    """A cursor over bytes."""

    def __init__(self, data, start=0, end=None):
        self.data = data
        self.offset = start
        self.end = len(data) if end is None else end

    def take(self, count):
        if count > self.end - self.offset:
            raise Damage("the bytes end too early")
        start = self.offset
        self.offset += count
        return self.data[start : self.offset]

    def byte(self):
        return self.take(1)[0]

    def integer(self, width, signed=False):
        return int.from_bytes(self.take(width), "little", signed=signed)

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if (byte == 0 and shift > 0) or value >> 64:
                    raise Damage("a varint that is too long")
                return value
            shift += 7
            if shift > 63:
                raise Damage("a varint that is too long")

    def text(self, count):
        return decode_text(self.take(count))


def decode_text(data):
    try:
        return bytes(data).decode("utf-8")
    except UnicodeDecodeError:
        raise Damage("text that is not UTF-8") from None


def check_counters(*numbers):
    if max(numbers) > COUNTER_LIMIT:
        raise Damage("a number beyond all limits")


# §2


class Preamble:
    def __init__(self, block, size, kind):
        if len(block) < size or not any(block):
            raise Damage("the file has no header")
        block = bytes(block[:size])
        (major,) = struct.unpack_from("<H", block, 8)
        checksum = struct.unpack_from("<I", block, size - 4)[0]
        is_whole = crc32c(block[:-4]) == checksum
        if block[:8] != MAGIC or major > 1:
            if crc32c(MAGIC, b"\x01\x00", block[10:-4]) == checksum:
                raise Damage("the first bytes are damaged")
            if block[:8] != MAGIC:
                raise Foreign("no file of Divan")
            # A store can be read without HEAD, so it must be whole to say no.
            if is_whole or (major < 256 and kind == 1):
                raise Newer(f"format version {major}")
        if not is_whole:
            raise Damage("the header's checksum is wrong")
        found, features = struct.unpack_from("<IQ", block, 12)
        if features:
            raise Newer(f"unknown features {features:x}")
        if found != kind:
            raise Foreign("a file of another kind than its name says")
        self.store_id = block[24:40]
        (self.salt,) = struct.unpack_from("<Q", block, 40)
        self.chain = crc32c(block[:64])
        self.block = block


# §3


class Place:
    def __init__(self, offset, commit, chain):
        self.offset, self.commit, self.chain = offset, commit, chain

    @classmethod
    def read(cls, block, at):
        return cls(*struct.unpack_from("<QQI", block, at))

    def __eq__(self, other):
        return vars(self) == vars(other)


class Segment:
    """A segment file with its header."""

    def __init__(self, path, first, last):
        self.path = path
        with open(path, "rb") as file:
            self.data = file.read()
        self.preamble = Preamble(self.data[:BLOCK_SIZE], BLOCK_SIZE, kind=1)
        block = self.preamble.block
        (_, self.first, self.last, _, flags) = struct.unpack_from("<QQQII", block, 64)
        if (self.first, self.last) != (first, last):
            raise Damage("the header belongs to another name")
        self.is_compacted = bool(flags & 1)
        counters = struct.unpack_from("<QQQ", block, 64) + struct.unpack_from("<QQ", block, 96)
        check_counters(*counters, *struct.unpack_from("<QQQ", block, 120))
        self.predecessor = Place.read(block, 96)
        (self.flushed_size,) = struct.unpack_from("<Q", block, 136)
        if self.is_compacted:
            self.compacted_end = Place.read(block, 160)
            (self.file_size,) = struct.unpack_from("<Q", block, 184)
            check_counters(*struct.unpack_from("<QQQQ", block, 144), self.file_size)


# §4


class Frame:
    """A frame that stands at its place; `payload` is None if it is damaged, or cut off where it may be."""

    def __init__(self, segment, offset, limit, may_be_cut=False):
        data = segment.data
        header = data[offset : offset + FRAME_HEADER_SIZE]
        if limit - offset < FRAME_HEADER_SIZE or len(header) < FRAME_HEADER_SIZE:
            raise Damage("too few bytes for a frame")
        (magic, self.type, self.flags, reserved, size, payload_crc, self.commit, self.chain, crc) = (
            struct.unpack("<4sBBHIIQII", header)
        )
        seed = struct.pack("<QQ", segment.preamble.salt, offset)
        if (
            magic != FRAME_MAGIC
            or crc32c(seed, header[:28]) != crc
            or self.type not in FRAME_TYPES
            or self.flags & ~3
            or reserved
            or size > PAYLOAD_LIMIT
            or self.commit > COUNTER_LIMIT
        ):
            raise Damage("no frame stands here")
        padded = (size + 7) & ~7
        self.offset = offset
        self.payload_offset = offset + FRAME_HEADER_SIZE
        self.size = size
        self.end = self.payload_offset + padded
        is_cut = self.end > limit or self.end > len(data)
        if is_cut and not may_be_cut:
            raise Damage("the frame is cut off")
        payload = data[self.payload_offset : min(self.end, limit)]
        self.payload = payload[:size] if not is_cut and crc32c(payload) == payload_crc else None
        self.next_chain = crc32c(header)


def find_frame(segment, start, limit, may_be_cut=False):
    """The next frame at or after `start`, whatever its chain, or None."""
    offset = (start + 7) & ~7
    while True:
        offset = segment.data.find(FRAME_MAGIC, offset, limit)
        if offset < 0:
            return None
        if offset % 8 == 0:
            try:
                return Frame(segment, offset, limit, may_be_cut)
            except Damage:
                pass
        offset += 1


# §5


class Trailer:
    def __init__(self, payload):
        (self.frame_count, _, last, bound, self.flushed_through, time, documents) = struct.unpack(
            "<IIQQQQQ", payload[-TRAILER_SIZE:]
        )
        self.counters = (last, bound, self.flushed_through, time, documents)


class Transaction:
    def __init__(self, payloads, trailer, end):
        self.payloads, self.trailer, self.end = payloads, trailer, end


def read_transaction(segment, place, limit):
    """The transaction that stands at a place; Damage if there is none that counts."""
    offset, chain, payloads = place.offset, place.chain, []
    while True:
        frame = Frame(segment, offset, limit)
        if frame.chain != chain:
            raise Damage("a frame that does not follow the one before it")
        if frame.payload is None:
            raise Damage("a frame with a wrong checksum")
        if (
            frame.type != TRANSACTION
            or frame.commit != place.commit + 1
            or bool(frame.flags & FIRST) != (not payloads)
        ):
            raise Damage("a frame out of its order")
        offset, chain = frame.end, frame.next_chain
        if not frame.flags & LAST:
            payloads.append(frame.payload)
            continue
        if len(frame.payload) < TRAILER_SIZE:
            raise Damage("a commit without a trailer")
        trailer = Trailer(frame.payload)
        check_counters(*trailer.counters)
        payloads.append(frame.payload[:-TRAILER_SIZE])
        if trailer.frame_count != len(payloads):
            raise Damage("a commit without its right trailer")
        return Transaction(payloads, trailer, Place(offset, frame.commit, chain))


# §6


def records(payload):
    """The kinds and contents of the records in a payload."""
    reader = Reader(payload)
    while reader.offset < reader.end:
        size = reader.varint()
        if size < 5 or size > RECORD_LIMIT:
            raise Damage("a record of an impossible size")
        checksum = reader.integer(4)
        body = reader.take(size - 4)
        if crc32c(body, continuing=size) != checksum:
            raise Damage("a record with a wrong checksum")
        yield body[0], body[1:]


# §8, after damage


def whole_records(payload):
    """The kinds and contents of the records in a damaged payload whose checksums are right."""
    # A damaged size may say anything, so the bytes that are checksummed in vain are bounded.
    offset, budget = 0, 4 * len(payload) + 4096
    while offset < len(payload) and budget > 0:
        reader = Reader(payload, offset)
        size = 0
        try:
            size = reader.varint()
            if size < 5 or size > RECORD_LIMIT:
                raise Damage("a record of an impossible size")
            checksum = reader.integer(4)
            body = reader.take(size - 4)
            if crc32c(body, continuing=size) != checksum:
                raise Damage("a record with a wrong checksum")
            yield body[0], body[1:]
            offset = reader.offset
        except Damage:
            budget -= 1 + (size if size <= len(payload) - offset else 0)
            offset += 1


def salvage(segment, start, limit):
    """The whole records of the frames between two places, a row for each frame."""
    while frame := find_frame(segment, start, limit, may_be_cut=True):
        start = frame.offset + 8
        if frame.type not in (TRANSACTION, COMPACTED):
            continue
        payload = segment.data[frame.payload_offset : min(frame.payload_offset + frame.size, limit)]
        if frame.type == TRANSACTION and frame.flags & LAST and len(payload) == frame.size:
            payload = payload[: max(0, len(payload) - TRAILER_SIZE)]
        yield whole_records(payload)
        start = max(start, min(frame.end, limit))


# §9


def read_digest(reader, may_be_foreign):
    size = reader.varint() if may_be_foreign else 0
    if size > 256:
        raise Damage("a digest that is too long")
    return reader.text(size) if size else reader.take(16).hex()


class Document:
    """What a document record says of a document, for those who want its properties."""

    def __init__(self, content):
        reader = Reader(content)
        flags = reader.byte()
        if flags & ~63:
            raise Damage("a document record with unknown flags")
        self.is_deleted = bool(flags & 1)
        self.id = reader.text(reader.byte())
        if not self.id:
            raise Damage("a document without an ID")
        self.sequence = reader.varint()
        check_counters(self.sequence)
        generation = reader.varint()
        if not 1 <= generation < 1 << 63:
            raise Damage("an impossible generation")
        self.revision = f"{generation}-{read_digest(reader, flags & 2)}"
        self.superseded = None
        if flags & 4:
            self.superseded = [reader.varint() for _ in range(4)][0]
        if flags & 8:
            for _ in range(reader.varint()):
                read_digest(reader, flags & 16)
        self.details = self.read_details(reader) if flags & 32 else 0
        self.body = reader.take(reader.end - reader.offset)


    # Bits of the details.
    KEEPS_SUPERSEDED, MAY_HOLD_OLDER = 128, 256
    # The sequence number of the winner's record, if it is another.
    winner = None

    def read_details(self, reader):
        flags = reader.varint()
        if not 0 < flags < 4096:
            raise Damage("a document record with unknown details")
        attachments = 0
        if flags & 1:
            attachments = reader.varint()
            for _ in range(attachments):
                reader.text(reader.varint())
                reader.text(reader.varint())
                reader.varint()
                reader.take(32)
                reader.varint()
        if flags & 2:
            reader.take(reader.varint())
        if flags & 4:
            winner = reader.byte()
            reader.varint()
            read_digest(reader, winner & 2)
            self.winner = reader.varint()
        if flags & 8:
            reader.varint()
        if flags & 16:
            reader.varint()
        if flags & 32:
            reader.text(reader.varint())
        if flags & 64:
            for _ in range(reader.varint()):
                reader.varint()
        if flags & 2048:
            for _ in range(attachments):
                if not reader.text(reader.varint()):
                    continue
                if reader.text(reader.varint()):
                    reader.varint()
        return flags

    def keeps(self, old):
        """Whether a record that this one takes the place of stays held."""
        if self.superseded == old.sequence:
            return bool(self.details & self.KEEPS_SUPERSEDED)
        return bool(self.details & self.MAY_HOLD_OLDER)


class Purge:
    """What a purge takes away: a document, or one record of it."""

    def __init__(self, content):
        reader = Reader(content)
        flags = reader.byte()
        if flags & ~15:
            raise Damage("a purge with unknown flags")
        self.id = reader.text(reader.byte())
        self.sequence = reader.varint() if flags & 1 else None


class Index:
    """What a record says of an index; its entries follow from the documents."""

    def __init__(self, content):
        reader = Reader(content)
        flags = reader.byte()
        if flags & ~127:
            raise Damage("an index with unknown flags")
        self.name = reader.text(reader.byte())
        if flags & 2:
            self.superseded = [reader.varint() for _ in range(3)]
        self.paths, self.conditions = [], []
        if not flags & 1:
            self.number = reader.varint()
            self.paths.append(read_path(reader))
            if flags & 32:
                self.paths += [read_path(reader) for _ in range(read_count(reader, 1, 7))]
            if flags & 64:
                count = read_count(reader, 1, 16)
                self.conditions = [read_condition(reader) for _ in range(count)]
        if reader.offset != reader.end:
            raise Damage("an index with more than there should be")


def read_count(reader, least, most):
    count = reader.varint()
    if not least <= count <= most:
        raise Damage(f"{count} where {least} to {most} are possible")
    return count


def read_path(reader):
    """The names of the way to a property."""
    return [reader.text(read_count(reader, 0, 1000)) for _ in range(read_count(reader, 1, 16))]


def read_condition(reader):
    """A path, the number of a test, and the value that it compares with."""
    path, test = read_path(reader), reader.byte()
    if test > 7:
        raise Damage("an unknown condition of an index")
    if test == 1:
        return path, test, None
    body = reader.take(read_count(reader, 1, 16000 if test == 7 else 1000))
    of_value = Reader(body)
    value = read_value(of_value, len(body), is_outermost=True)
    is_possible = {6: lambda: isinstance(value, str), 7: lambda: isinstance(value, list) and 1 <= len(value) <= 256}
    if of_value.offset != len(body) or not is_possible.get(test, lambda: True)():
        raise Damage("a condition of an index with what is no value")
    return path, test, value


# §12


def read_value(reader, end, depth=0, is_outermost=False):
    """The value at the reader's place, which must end by `end`."""
    tag = reader.byte()
    if tag < 0x40:
        return tag
    if tag < 0x80:
        return reader.text(tag & 0x3F)
    if tag < 0x90:
        return -1 - (tag & 0xF)
    if tag < 0x98:
        return reader.integer((tag & 7) + 1)
    if tag < 0xA0:
        return -1 - reader.integer((tag & 7) + 1)
    if tag in (0xA0, 0xA1, 0xA2):
        return {0xA0: None, 0xA1: False, 0xA2: True}[tag]
    if tag == 0xA3:
        return -0.0
    if tag in (0xA4, 0xA5):
        return finite(struct.unpack("<f" if tag == 0xA4 else "<d", reader.take(4 if tag == 0xA4 else 8))[0])
    if 0xA8 <= tag <= 0xAB:
        return reader.text(reader.integer((tag & 3) + 1))
    if 0xB0 <= tag <= 0xB9 or 0xC0 <= tag <= 0xC9:
        return read_container(reader, tag, end, depth, is_outermost)
    if 0xD0 <= tag <= 0xE6 and tag & 7 != 7:
        return decimal(reader.integer((tag & 7) + 1), -((tag - 0xD0) // 8))
    if 0xE8 <= tag <= 0xED:
        exponent = reader.integer(1, signed=True)
        return decimal(reader.integer((tag & 7) + 1), exponent)
    if 0xF0 <= tag <= 0xF4:
        exponent = reader.integer(2, signed=True)
        return decimal(reader.integer((tag & 7) + 1), exponent)
    raise Damage(f"no value begins with {tag:02X}")


def finite(number):
    if number != number or number in (float("inf"), float("-inf")):
        raise Damage("a double that is not a finite number")
    return number


def decimal(written, exponent):
    digits = -(written + 1 >> 1) if written & 1 else written >> 1
    # The nearest double to the decimal: what reading its text gives.
    return finite(float(f"{digits}e{exponent}"))


def read_container(reader, tag, end, depth, is_outermost):
    if depth >= DEPTH_LIMIT:
        raise Damage("values are nested too deeply")
    is_object, form = tag >= 0xC0, tag & 0xF
    if form == 0:
        return {} if is_object else []
    count = None
    if form == 5:
        if not is_outermost:
            raise Damage("an inner value without an end")
    else:
        width = form if form < 5 else form - 5
        end_of_content = reader.integer(width) + reader.offset
        if end_of_content > end:
            raise Damage("a value that is cut off")
        end = end_of_content
        if form > 5:
            count = reader.varint()
            if count <= 16:
                raise Damage("a table for few elements")
            reader.take((count - 1) // 16 * width)
    elements, keys = [], []
    while reader.offset < end:
        if is_object:
            key = reader.take(reader.varint())
            if keys and not keys[-1] < key:
                raise Damage("keys that do not rise")
            keys.append(key)
        elements.append(read_value(reader, end, depth + 1))
    if reader.offset != end or (count is not None and count != len(elements)):
        raise Damage("a value of another size than it says")
    if not is_object:
        return elements
    return {decode_text(key): value for key, value in zip(keys, elements)}


def properties(body):
    reader = Reader(body)
    value = read_value(reader, len(body), is_outermost=True)
    if reader.offset != len(body) or not isinstance(value, dict):
        raise Damage("the body is no object")
    return value


# §8


NAME = re.compile(r"(\d{10,})(?:-(\d{10,}))?\.segment")


def segment_numbers(name):
    match = NAME.fullmatch(name)
    if not match:
        return None
    for digits in match.groups():
        if digits and (not 0 < int(digits) <= COUNTER_LIMIT or (len(digits) > 10 and digits[0] == "0")):
            return None
    first = int(match[1])
    last = int(match[2] or first)
    return None if match[2] and first >= last else (first, last)


# §1


PREAMBLED = re.compile(r"HEAD|FLUSHED|[0-9]{10,}\.checkpoint|[0-9a-f]{32}\.view")
TEMPORARY = re.compile(
    PREAMBLED.pattern + r"|RESERVE|CHECK|attachment-[1-9][0-9]*|[0-9]{10,}(?:-[0-9]{10,})?\.segment")


def starts_with_magic(path):
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except IsADirectoryError:
        return False


def is_store(path, names):
    """Whether a directory without segments is shown to be a store."""
    lock = None
    if "LOCK" in names:
        with open(os.path.join(path, "LOCK"), "rb") as file:
            lock = file.read(1025)
        if len(lock) <= 1024 and lock.startswith(b"Divan store\n"):
            return True
    if any(PREAMBLED.fullmatch(name) and starts_with_magic(os.path.join(path, name)) for name in names):
        return True
    if lock is None or not re.fullmatch(rb"\0{0,1024}|process [0-9]*", lock):
        return False
    if not set(names) <= {"LOCK", "RESERVE", "tmp"}:
        return False
    return "tmp" not in names or all(map(TEMPORARY.fullmatch, os.listdir(os.path.join(path, "tmp"))))


class Log:
    """The segments of a store, and how the log ends."""

    def __init__(self, path):
        self.path = path
        self.damage = []
        self.torn_bytes = 0
        self.segments = []
        names = sorted(os.listdir(path))
        numbers = sorted(filter(None, map(segment_numbers, names)), key=lambda n: (n[0], -n[1]))
        if not numbers:
            if not is_store(path, names):
                raise Foreign("there is no store here")
            # A file of zeros, or of no bytes, says nothing.
            says_flushed = "FLUSHED" in names and any(map(any, self.mark_blocks()))
            if (
                "HEAD" in names
                or says_flushed
                or any(name.endswith(".checkpoint") for name in names)
                or self.has_attachments()
            ):
                raise Damage("the store has lost all of its segments")
        # The evidence before the log, since a writer that goes on writes it after the log.
        self.head = self.read_head() if "HEAD" in names else None
        self.marks = self.read_marks() if "FLUSHED" in names else []
        self.choose(numbers)
        self.marks = [mark for mark in self.marks if mark.store_id == self.store_id()]

    def has_attachments(self):
        """Whether there is the file of an attachment, which is younger than the first segment."""
        folder = os.path.join(self.path, "attachments")
        return any(
            len(name) == 64 and name.startswith(os.path.basename(root))
            for root, _, files in os.walk(folder)
            for name in files
        )

    def file_path(self, first, last):
        name = f"{first:010}" if first == last else f"{first:010}-{last:010}"
        return os.path.join(self.path, name + ".segment")

    def choose(self, numbers):
        expected = 1
        for first, last in numbers:
            if first < expected:
                continue
            has_inputs = any(a == first and b < last for a, b in numbers)
            try:
                segment = Segment(self.file_path(first, last), first, last)
                if has_inputs and segment.is_compacted and len(segment.data) != segment.file_size:
                    continue
            except (Damage, Foreign) as error:
                if not has_inputs:
                    self.damage.append(f"{self.file_path(first, last)}: {error}")
                continue
            if first != expected:
                self.damage.append(f"segments {expected} to {first - 1} are missing")
            self.segments.append(segment)
            expected = last + 1
        if numbers and not self.segments:
            raise Damage("no segment can be read")
        for segment in self.segments[1:]:
            if segment.preamble.store_id != self.segments[0].preamble.store_id:
                raise Foreign(f"{segment.path} belongs to another store")

    def read_head(self):
        try:
            with open(os.path.join(self.path, "HEAD"), "rb") as file:
                block = file.read(HEAD_SIZE + 1)
            if len(block) != HEAD_SIZE:
                raise Damage("HEAD has the wrong size")
            block = Preamble(block, HEAD_SIZE, kind=3).block
            check_counters(struct.unpack_from("<Q", block, 64)[0])
            check_counters(*struct.unpack_from("<QQ", block, 80), *struct.unpack_from("<QQ", block, 104))
            return block
        except (Damage, Foreign):
            return None

    def store_id(self):
        return self.segments[0].preamble.store_id if self.segments else None

    def mark_blocks(self):
        with open(os.path.join(self.path, "FLUSHED"), "rb") as file:
            data = file.read(MARK_OFFSETS[-1] + MARK_SIZE)
        return [data[offset : offset + MARK_SIZE] for offset in MARK_OFFSETS]

    def read_marks(self):
        marks = []
        for block in self.mark_blocks():
            try:
                preamble = Preamble(block, MARK_SIZE, kind=5)
                check_counters(struct.unpack_from("<Q", block, 64)[0], *struct.unpack_from("<QQ", block, 80))
                marks.append(preamble)
            except (Damage, Foreign):
                continue
        return marks

    def evidence(self):
        """What HEAD and FLUSHED say: a segment's number and salt, and a place in it."""
        if self.head:
            yield (*struct.unpack_from("<QQ", self.head, 64), Place.read(self.head, 80))
        for mark in self.marks:
            (number,) = struct.unpack_from("<Q", mark.block, 64)
            yield (number, mark.salt, Place.read(mark.block, 80))

    def record_rows(self):
        """The records of everything that counts, and what is left of the rest, in order: a row for each payload."""
        for segment, successor in zip(self.segments, self.segments[1:] + [None]):
            if segment.is_compacted:
                yield from self.compacted_rows(segment, successor)
            elif successor:
                yield from self.rows_through(segment, successor.predecessor)
            else:
                yield from self.last_rows(segment)

    def compacted_rows(self, segment, successor):
        end = segment.compacted_end
        if successor and (successor.predecessor.commit, successor.predecessor.chain) != (
            end.commit,
            end.chain,
        ):
            self.damage.append(f"{segment.path}: its successor follows another commit")
        if not successor and self.evidence_shows_more(segment.last, end.commit):
            self.damage.append(f"{segment.path}: HEAD or FLUSHED shows a longer log")
        offset, chain, limit = BLOCK_SIZE, segment.preamble.chain, segment.file_size
        while True:
            try:
                frame = Frame(segment, offset, limit)
                if chain is not None and frame.chain != chain:
                    raise Damage("a frame that does not follow the one before it")
            except Damage as error:
                self.damage.append(f"{segment.path} at byte {offset}: {error}")
                frame = find_frame(segment, offset + 8, limit)
                if not frame:
                    return
            offset, chain = frame.end, frame.next_chain
            if frame.payload is None:
                self.damage.append(f"{segment.path} at byte {frame.offset}: a damaged frame")
                yield from salvage(segment, frame.offset, frame.end)
            elif frame.type == FOOTER:
                return
            else:
                yield records(frame.payload)

    def rows_through(self, segment, end):
        """Reads up to a known end, going on behind damage."""
        place = Place(BLOCK_SIZE, segment.predecessor.commit, segment.preamble.chain)
        while place.offset < end.offset:
            try:
                transaction = read_transaction(segment, place, end.offset)
            except Damage as error:
                self.damage.append(f"{segment.path} at byte {place.offset}: {error}")
                start, place = place.offset, self.resume(segment, place, end.offset)
                yield from salvage(segment, start, place.offset if place else end.offset)
                if not place:
                    return
                continue
            place = transaction.end
            yield from map(records, transaction.payloads)
        if place != end:
            self.damage.append(f"{segment.path} ends otherwise than its successor says")

    def resume(self, segment, place, limit):
        start = place.offset + 8
        while True:
            frame = find_frame(segment, start, limit)
            if not frame:
                return None
            if frame.flags & FIRST and frame.commit > place.commit:
                return Place(frame.offset, frame.commit - 1, frame.chain)
            start = frame.offset + 8

    def last_rows(self, segment):
        """The tail rule."""
        size = len(segment.data)
        place = Place(BLOCK_SIZE, segment.predecessor.commit, segment.preamble.chain)
        while place.offset < size:
            try:
                transaction = read_transaction(segment, place, size)
            except Damage:
                break
            place = transaction.end
            yield from map(records, transaction.payloads)
        if not self.was_longer(segment, place):
            # A writer may have written zeros ahead.
            begin = max(place.offset, size - ZEROS_AHEAD)
            self.torn_bytes = begin + len(segment.data[begin:].rstrip(b"\0")) - place.offset
            return
        self.damage.append(f"{segment.path} at byte {place.offset}: more was durable once")
        # What can be read behind it.
        end = place
        while True:
            start, place = place.offset, self.resume(segment, place, size)
            if place:
                yield from salvage(segment, start, place.offset)
            elif self.was_longer(segment, end):
                yield from salvage(segment, start, size)
            while place:
                try:
                    transaction = read_transaction(segment, place, size)
                except Damage:
                    break
                end = place = transaction.end
                yield from map(records, transaction.payloads)
            if not place or place.offset >= size:
                return

    def evidence_shows_more(self, number, commit):
        return any(
            evident_number > number or place.commit > commit for evident_number, _, place in self.evidence()
        )

    def was_longer(self, segment, end):
        if segment.flushed_size > end.offset or self.evidence_shows_more(segment.last, end.commit):
            return True
        for number, salt, place in self.evidence():
            if (number, salt) == (segment.last, segment.preamble.salt) and place.offset > end.offset:
                return True
        size = len(segment.data)
        budget, start = 4 * size, end.offset
        while budget > 0:
            frame = find_frame(segment, start, size)
            if not frame:
                return False
            start = frame.offset + 8
            budget -= frame.end - frame.offset
            if frame.payload is None or frame.type != TRANSACTION or not frame.flags & LAST:
                continue
            if len(frame.payload) >= TRAILER_SIZE:
                trailer = Trailer(frame.payload)
                if max(trailer.counters) <= COUNTER_LIMIT and trailer.flushed_through > end.offset:
                    return True
        return False

    def documents(self):
        """The winning record of each document, by the bytes of its ID."""
        found = {}
        # Records besides the newest ones, by ID and sequence number.
        held = {}
        for row in self.record_rows():
            try:
                for kind, content in row:
                    if kind == DOCUMENT:
                        document = Document(content)
                        key = document.id.encode()
                        old = found.get(key)
                        if old and document.keeps(old):
                            held[key, old.sequence] = old
                        found[key] = document
                    elif kind == PURGE:
                        purge = Purge(content)
                        if purge.sequence is None:
                            found.pop(purge.id.encode(), None)
                        else:
                            held.pop((purge.id.encode(), purge.sequence), None)
                    elif kind == INDEX:
                        Index(content)
                    elif kind not in OTHER_KINDS and kind < 128:
                        self.damage.append(f"a record of the unknown kind {kind}")
            except Damage as error:
                self.damage.append(f"a record: {error}")
        for key, document in found.items():
            if document.winner is not None:
                if (key, document.winner) in held:
                    found[key] = held[key, document.winner]
                else:
                    self.damage.append(f"document {document.id}: the winning revision is missing")
        return found


# §14


ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def json_text(text):
    parts = []
    for character in text:
        if character in ESCAPES:
            parts.append(ESCAPES[character])
        elif character < " ":
            parts.append(f"\\u{ord(character):04x}")
        else:
            parts.append(character)
    return '"' + "".join(parts) + '"'


def json_double(number):
    text = repr(number)
    if abs(number) <= 2**53 or "e" in text:
        return text
    # The same digits, with an exponent.
    sign = "-" if number < 0 else ""
    digits = text.lstrip("-").split(".")[0]
    exponent = len(digits) - 1
    digits = digits.rstrip("0")
    fraction = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e+{exponent:02}"


def json_value(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return json_double(value)
    if isinstance(value, str):
        return json_text(value)
    if isinstance(value, list):
        return "[" + ",".join(map(json_value, value)) + "]"
    return "{" + members(value) + "}"


def members(value):
    return ",".join(f"{json_text(key)}:{json_value(item)}" for key, item in value.items())


def export_line(document):
    line = f'{{"_id":{json_text(document.id)},"_rev":{json_text(document.revision)}'
    rest = members(properties(document.body))
    return line + ("," + rest if rest else "") + "}"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 1
    try:
        log = Log(arguments[0])
        for _, document in sorted(log.documents().items()):
            if document.is_deleted:
                continue
            try:
                sys.stdout.buffer.write(export_line(document).encode() + b"\n")
            except Damage as error:
                log.damage.append(f"document {document.id}: {error}")
    except Damage as error:
        print(f"damage: {error}", file=sys.stderr)
        return 3
    except Newer as error:
        print(f"newer: {error}", file=sys.stderr)
        return 5
    except (Foreign, OSError) as error:
        print(f"unreadable: {error}", file=sys.stderr)
        return 4
    for damage in log.damage:
        print(f"damage: {damage}", file=sys.stderr)
    if log.damage:
        return 3
    return 2 if log.torn_bytes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
