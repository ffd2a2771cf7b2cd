#!/usr/bin/env python3
"""Losses of power on real file systems, at the level of blocks.

A program writes to a store on ext4, XFS or btrfs, on a disk that remembers every write and every flush
(block_trace.py). Then power is lost again and again, each time at another place of that trace: the disk gets
what was flushed by then, and any part of what was written since, in sectors of 512 bytes. The file system is mounted,
which replays its journal; the store is opened for writing, as after any crash; and all that was
acknowledged by then must be there, whole, and sound to `check` and to `logdump verify`.

The proof suites lose power in a simulation, which knows what the standard promises. This asks the file systems
themselves. It runs as root only, on Linux with loop devices and FUSE, and not in `.ci/run`.

    sudo Tests/blocks/replay.py --file-system ext4 --seconds 5 --losses 300

`--lying` must fail: then the disk breaks what it promised.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from block_trace import FLUSH, WRITE, TracedDisk, read_trace

SECTOR = 512
FILE_SYSTEMS = {
    "ext4": (["mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0"], "ext4", ""),
    "ext4-writeback": (["mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0"], "ext4", "data=writeback"),
    "xfs": (["mkfs.xfs", "-q", "-K"], "xfs", "nouuid"),
    "btrfs": (["mkfs.btrfs", "-q", "-K"], "btrfs", ""),
}


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


class Disk:
    """A loop device over a file, with its file system mounted while it is used."""

    def __init__(self, image, mount_point, kind, options):
        self.device = run("losetup", "--find", "--show", image).strip()
        self.mount_point = mount_point
        self.mount_options = ["-t", kind] + (["-o", options] if options else [])

    def mount(self):
        run("mount", *self.mount_options, self.device, self.mount_point)

    def remove(self):
        subprocess.run(["umount", self.mount_point], capture_output=True)
        run("losetup", "--detach", self.device)


def serve(folder, backing, trace, size, position, ready):
    disk = TracedDisk(folder, backing, trace, size, position)
    ready.set()
    disk.serve()


class Recording:
    """What a program did to a store on a traced disk."""

    def __init__(self, work, options):
        self.trace_path = f"{work}/trace"
        fuse, mount_point = f"{work}/fuse", f"{work}/recorded"
        os.mkdir(fuse)
        os.mkdir(mount_point)
        make, kind, mount_options = FILE_SYSTEMS[options.file_system]
        position = multiprocessing.Value("Q", 0, lock=False)
        ready = multiprocessing.Event()
        server = multiprocessing.Process(
            target=serve,
            args=(fuse, f"{work}/backing", self.trace_path, options.size << 20, position, ready))
        server.start()
        if not ready.wait(10):
            sys.exit("the traced disk was not mounted: is /dev/fuse there, and are you root?")
        # Which place of the trace something was said at.
        self.said = []
        try:
            run(*make, f"{fuse}/disk")
            disk = Disk(f"{fuse}/disk", mount_point, kind, mount_options)
            try:
                disk.mount()
                self.first = position.value
                self.work(f"{mount_point}/store", options, position)
            finally:
                disk.remove()
        finally:
            subprocess.run(["umount", fuse], capture_output=True)
            server.join(10)
            server.kill()
        self.entries = read_trace(self.trace_path)

    def work(self, store, options, position):
        """Writes, is killed, and goes on, so that recoveries are in the trace, too."""
        for stretch in range(options.stretches):
            program = subprocess.Popen(
                [options.worker, "write", store, "threads=3", "compact", f"durability={options.durability}"],
                stdout=subprocess.PIPE, text=True)
            killer = threading.Timer(options.seconds / options.stretches, program.kill)
            for line in program.stdout:
                # Not sooner, so that something is written however slow the machine is.
                if line.startswith("open\n"):
                    killer.start()
                # Read after it was said, so that at least this much had reached the disk.
                self.said.append((position.value, line.strip()))
                if line.startswith("error"):
                    sys.exit(f"the program failed: {line}")
            killer.cancel()
            program.wait()

    def acknowledged(self, place, durability):
        """The last round of each thread that was acknowledged before a place of the trace."""
        rounds = {}
        for said, line in self.said:
            words = line.split()
            if said > place or len(words) != 2 or not words[0].isdigit():
                continue
            thread, number = int(words[0]), int(words[1])
            # Of mixed durability only every third round is promised: OtherProgram.durability.
            if durability == "mixed" and (thread + number) % 3 != 0:
                continue
            rounds[thread] = max(rounds.get(thread, 0), number)
        return rounds


class Replay:
    """Makes the disk as it may be after a loss of power, and looks at what is on it."""

    def __init__(self, work, recording, options):
        self.recording, self.options = recording, options
        self.image, self.copy = f"{work}/flushed", f"{work}/lost"
        self.mount_point = f"{work}/replayed"
        os.mkdir(self.mount_point)
        with open(self.image, "wb") as image:
            image.truncate(options.size << 20)
        # How many entries the image has.
        self.applied = 0

    def lose_power(self, place, choice):
        """Loses power when `place` entries of the trace had arrived; returns what is wrong, or nothing."""
        entries = self.recording.entries
        flushes = [i for i in range(place) if entries[i][0] == FLUSH] or [0]
        # A disk that lies: some of what it said was flushed was not.
        late = choice.randrange(min(40, len(flushes))) if self.options.lying else 0
        flushed = max(self.applied, flushes[-1 - late])
        with open(self.image, "r+b") as image:
            for kind, offset, data in entries[self.applied:flushed]:
                if kind == WRITE:
                    image.seek(offset)
                    image.write(data)
        self.applied = flushed
        run("cp", "--sparse=always", self.image, self.copy)
        # Everything since, nothing of it, or any part: whole writes or sectors.
        share = choice.choice([0, 1, choice.random(), choice.random()])
        with open(self.copy, "r+b") as image:
            for kind, offset, data in entries[flushed:place]:
                tears = choice.random() < 0.2
                for start in range(0, len(data), SECTOR if tears else max(1, len(data))):
                    if choice.random() < share:
                        image.seek(offset + start)
                        image.write(data[start:start + SECTOR] if tears else data)
        return self.look(place)

    def look(self, place):
        kind, mount_options = FILE_SYSTEMS[self.options.file_system][1:]
        expected = self.recording.acknowledged(place, self.options.durability)
        disk = Disk(self.copy, self.mount_point, kind, mount_options)
        try:
            try:
                disk.mount()
            except subprocess.CalledProcessError as error:
                return f"the file system cannot be mounted: {error.stderr}"
            store = f"{self.mount_point}/store"
            if not os.path.exists(store):
                return f"the store is gone, and {expected} was acknowledged" if expected else None
            check = subprocess.run(
                [self.options.worker, "check", store], capture_output=True, text=True)
            found = [line for line in check.stdout.splitlines() if line.startswith("found")]
            if check.returncode != 0 or not found:
                return f"status {check.returncode}: {check.stdout} {check.stderr}"
            rounds = dict(
                (int(thread), int(number))
                for thread, number in (pair.split("=") for pair in found[0].split()[1:]))
            lost = {
                thread: (number, rounds.get(thread, 0))
                for thread, number in expected.items() if rounds.get(thread, 0) < number}
            if lost:
                return f"acknowledged and found rounds: {lost}"
            verify = subprocess.run(
                [self.options.logdump, "verify", store], capture_output=True, text=True)
            if verify.returncode != 0:
                return f"logdump verify: {verify.stdout} {verify.stderr}"
            return None
        finally:
            disk.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--file-system", choices=FILE_SYSTEMS, default="ext4")
    parser.add_argument("--seconds", type=float, default=5, help="how long the program writes")
    parser.add_argument("--stretches", type=int, default=3, help="how often it is killed meanwhile")
    parser.add_argument("--losses", type=int, default=200, help="how often power is lost")
    parser.add_argument("--durability", choices=["full", "mixed"], default="full")
    parser.add_argument(
        "--lying", action="store_true",
        help="the disk forgets up to 40 flushes: to see that what is lost is found")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=512, help="of the disk, in MiB")
    parser.add_argument("--work", help="where images are put; /dev/shm is fastest")
    parser.add_argument(
        "--programs", default=".build/release", help="where `swift build -c release` put the programs")
    options = parser.parse_args()
    options.worker = f"{options.programs}/OtherProcess"
    options.logdump = f"{options.programs}/logdump"
    if os.geteuid() != 0:
        sys.exit("this needs to be root: it makes loop devices and mounts file systems")
    for program in (options.worker, options.logdump):
        if not os.access(program, os.X_OK):
            sys.exit(f"there is no {program}: build it with `swift build -c release`")
    work = tempfile.mkdtemp(dir=options.work)
    try:
        return replay(work, options)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def replay(work, options):
    recording = Recording(work, options)
    writes = sum(1 for entry in recording.entries if entry[0] == WRITE)
    flushes = len(recording.entries) - writes
    acknowledged = recording.acknowledged(len(recording.entries), options.durability)
    print(
        f"{options.file_system}: {writes} writes and {flushes} flushes recorded, "
        f"{sum(acknowledged.values())} rounds acknowledged, seed {options.seed}", flush=True)
    choice = random.Random(options.seed)
    places = sorted(
        choice.randint(recording.first, len(recording.entries)) for _ in range(options.losses))
    replayer = Replay(work, recording, options)
    start, failures = time.monotonic(), 0
    for number, place in enumerate(places):
        problem = replayer.lose_power(place, random.Random(f"{options.seed} {number} {place}"))
        if problem:
            failures += 1
            print(f"loss {number} after {place} writes and flushes: {problem}", flush=True)
    print(
        f"{options.losses} losses of power in {time.monotonic() - start:.0f} s: "
        + (f"{failures} FAILED" if failures else "Everything held."))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
