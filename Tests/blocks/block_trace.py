"""A disk that remembers every write: one file in a file system of its own (FUSE, spoken without a library).

A loop device on that file is a disk to the kernel. What reaches it is appended to a trace in the order in which it
arrives: a write with its bytes, or a flush. Only `write` and `fsync` change anything; all else is answered so that
a loop device is content.
"""

import ctypes
import errno
import os
import struct

WRITE, FLUSH = 1, 2
ENTRY = struct.Struct("<BxxxxxxxQQ")

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE_OP = 1, 2, 3, 4, 14, 15, 16
STATFS, RELEASE, FSYNC, FLUSH_OP, INIT, OPENDIR, RELEASEDIR = 17, 18, 20, 25, 26, 27, 29
INTERRUPT, DESTROY, BATCH_FORGET = 36, 38, 42

IN_HEADER = struct.Struct("<IIQQIIIHH")
OUT_HEADER = struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
LARGEST_WRITE = 1 << 20
ROOT, DISK = 1, 2
BIG_WRITES, MAX_PAGES = 1 << 5, 1 << 22


class TracedDisk:
    """Serves the file `disk` in a mounted folder, from a sparse file, and writes the trace."""

    def __init__(self, folder, backing, trace, size, position):
        """`position` is a shared number: how many entries the trace has."""
        self.folder, self.size, self.position = folder, size, position
        self.backing = os.open(backing, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(self.backing, size)
        self.trace = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"traced-disk", folder.encode(), b"fuse", 0, options.encode()) != 0:
            raise OSError(ctypes.get_errno(), "mount", folder)

    def serve(self):
        """Answers until the folder is unmounted."""
        while True:
            try:
                request = os.read(self.device, LARGEST_WRITE + (1 << 16))
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return
            _, operation, unique, node, *_ = IN_HEADER.unpack_from(request)
            if operation in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            if operation == DESTROY:
                return
            try:
                answer, status = self.answer(operation, node, memoryview(request)[40:]), 0
            except OSError as error:
                answer, status = b"", -error.errno
            try:
                os.writev(
                    self.device,
                    [OUT_HEADER.pack(16 + len(answer), status, unique), answer])
            except OSError:
                return

    def attributes(self, node):
        size, mode = (0, 0o40700) if node == ROOT else (self.size, 0o100600)
        return ATTRIBUTES.pack(
            node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, operation, node, content):
        if operation == INIT:
            return struct.pack(
                "<IIIIHHIIHHI7I", 7, 31, 1 << 17, BIG_WRITES | MAX_PAGES, 64, 48, LARGEST_WRITE, 1,
                LARGEST_WRITE >> 12, 0, 0, *[0] * 7)
        if operation == LOOKUP:
            if bytes(content).rstrip(b"\0") != b"disk":
                raise OSError(errno.ENOENT, "lookup")
            return struct.pack("<QQQQII", DISK, 0, 3600, 3600, 0, 0) + self.attributes(DISK)
        if operation in (GETATTR, SETATTR):
            return struct.pack("<QII", 3600, 0, 0) + self.attributes(node)
        if operation in (OPEN, OPENDIR):
            return struct.pack("<QIi", node, 0, 0)
        if operation == READ:
            _, offset, size = struct.unpack_from("<QQI", content)
            return os.pread(self.backing, min(size, max(0, self.size - offset)), offset)
        if operation == WRITE_OP:
            _, offset, size = struct.unpack_from("<QQI", content)
            data = content[40:40 + size]
            os.pwrite(self.backing, data, offset)
            self.note(ENTRY.pack(WRITE, offset, size), data)
            return struct.pack("<II", size, 0)
        if operation == FSYNC:
            self.note(ENTRY.pack(FLUSH, 0, 0))
            return b""
        if operation in (RELEASE, RELEASEDIR, FLUSH_OP):
            return b""
        if operation == STATFS:
            return struct.pack("<QQQQQIIII6I", 1 << 20, 1 << 19, 1 << 19, 9, 9, 4096, 255, 4096, 0, *[0] * 6)
        raise OSError(errno.ENOSYS, "operation")

    def note(self, *parts):
        os.writev(self.trace, parts)
        # Behind the entry: who reads the number finds as many.
        self.position.value += 1


def read_trace(path):
    """The entries of a trace: kind, offset, and the bytes as a view."""
    content = memoryview(open(path, "rb").read())
    place, entries = 0, []
    while place < len(content):
        kind, offset, size = ENTRY.unpack_from(content, place)
        place += ENTRY.size
        entries.append((kind, offset, content[place:place + size]))
        place += size
    return entries
