#!/usr/bin/env python3
"""Writes a data frame of an R package as CSV, without R.

usage: rdata2csv.py FILE            lists the objects in FILE
       rdata2csv.py FILE OBJECT [COLUMN...]
                                    writes the data frame OBJECT, or these columns of it, to standard output

FILE is a package's data/Rdata.rdb (its index Rdata.rdx lies beside it), an .rda or an .RData file.

An .rdb file is a row of compressed records; the index says where each object's record lies (offset, size).
A record is R's serialisation in XDR: big-endian, a tree of items, each with a flag word: type in the low
8 bits, bit 9 = has attributes, bit 10 = has a tag ("R Internals", section 1.8). A data frame is a list
of columns with the attribute `names`; a factor is an integer vector with the attribute `levels`.
Only Python's standard library is used.
"""
import bz2
import csv
import lzma
import struct
import sys
import zlib

HAS_ATTRIBUTES, HAS_TAG = 0x200, 0x400
PAIRS = (2, 3, 5, 6, 239, 240)
NA_INT = -2147483648


class Vector:
    """Values with attributes."""

    def __init__(self, values, attributes=None):
        self.values, self.attributes = values, attributes or {}


class Reader:
    """Reads one item after another from a serialised stream, format 2 or 3."""

    def __init__(self, data):
        if data[:5] in (b"RDX2\n", b"RDX3\n"):
            data = data[5:]
        if data[:2] != b"X\n":
            raise ValueError("not R data in XDR format")
        self.data, self.at, self.seen = data, 2, []
        version, _, _ = self.int(), self.int(), self.int()
        if version == 3:
            self.bytes(self.int())  # the name of the encoding

    def bytes(self, n):
        if n < 0 or self.at + n > len(self.data):
            raise ValueError("R data end at byte %d of %d wanted" % (len(self.data), self.at + n))
        self.at += n
        return self.data[self.at - n : self.at]

    def int(self):
        return struct.unpack(">i", self.bytes(4))[0]

    def length(self):
        n = self.int()
        return n if n != -1 else (self.int() << 32) + self.int()

    def numbers(self, code, size):
        n = self.length()
        return list(struct.unpack(">%d%s" % (n, code), self.bytes(n * size)))

    def text(self):
        n = self.int()
        return None if n == -1 else self.bytes(n).decode("utf-8", "replace")

    def remember(self, thing):
        self.seen.append(thing)
        return thing

    def environment(self):
        self.int()
        self.remember("<environment>")
        for _ in range(4):
            self.item()
        return "<environment>"

    def pair(self, flags):
        attributes = self.item() if flags & HAS_ATTRIBUTES else None
        tag = self.item() if flags & HAS_TAG else None
        del attributes
        return ("pair", tag, self.item(), self.item())

    def vector(self, kind):
        if kind in (10, 13):  # logical, integer
            return [None if x == NA_INT else x for x in self.numbers("i", 4)]
        if kind == 14:  # double
            return [None if x != x else x for x in self.numbers("d", 8)]
        if kind in (16, 19, 20):  # strings, list, expression
            return [self.item() for _ in range(self.length())]
        if kind == 24:  # raw
            return self.bytes(self.length())
        raise ValueError("R type %d at byte %d is not known here" % (kind, self.at))

    def compact(self):
        """ALTREP: R's own shorthands for vectors."""
        info, state, attributes = self.item(), self.item(), dict(pairs(self.item()))
        name = list(items(info))[0]
        if name in ("compact_intseq", "compact_realseq"):
            count, first, step = state.values
            return Vector([first + i * step for i in range(int(count))], attributes)
        if name == "deferred_string":
            return Vector([None if x is None else str(x) for x in state[2].values], attributes)
        if name.startswith("wrap_"):
            inner = state.values[0] if isinstance(state, Vector) else state[2]
            return Vector(inner.values, attributes or inner.attributes)
        raise ValueError("R shorthand %s is not known here" % name)

    def item(self):
        flags = self.int()
        kind = flags & 255
        if kind in (254, 253, 252, 251, 242, 241):  # NULL, environments with a name, missing
            return None
        if kind == 255:  # seen before
            return self.seen[(flags >> 8 or self.int()) - 1]
        if kind == 1:  # a symbol
            return self.remember(self.item())
        if kind in (247, 248, 249):  # package, persistent, namespace
            self.int()
            return self.remember(tuple(self.item() for _ in range(self.int())))
        if kind == 4:
            return self.environment()
        if kind in PAIRS:
            return self.pair(flags)
        if kind == 9:
            return self.text()
        if kind == 238:
            return self.compact()
        values = self.vector(kind)
        return Vector(values, dict(pairs(self.item())) if flags & HAS_ATTRIBUTES else {})


def pairs(chain):
    while isinstance(chain, tuple) and chain[0] == "pair":
        yield chain[1], chain[2]
        chain = chain[3]


def items(chain):
    return (value for _, value in pairs(chain))


def inflate(data):
    for magic, unpack in ((b"\x1f\x8b", lambda d: zlib.decompress(d, 31)), (b"BZh", bz2.decompress),
                          (b"\xfd7zXZ\x00", lzma.decompress), (b"\x78", zlib.decompress)):
        if data.startswith(magic):
            return unpack(data)
    return data


def inflate_record(record):
    """A record of an .rdb file: 4 bytes of length, then a letter unless it is zlib's."""
    kind, body = record[4:5], record[5:]
    if kind == b"Z" and body.startswith(b"\xfd7zXZ\x00"):
        return lzma.decompress(body)
    if kind == b"Z":
        return lzma.decompress(body, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 6}])
    if kind == b"2":
        return bz2.decompress(body)
    return body if kind == b"0" else zlib.decompress(record[4:])


def read(path):
    with open(path, "rb") as f:
        return f.read()


def objects(path):
    """Name -> function that returns the object."""
    if not path.endswith(".rdb"):
        return {name: (lambda v=value: v) for name, value in pairs(Reader(inflate(read(path))).item())}
    index = Reader(inflate(read(path[:-1] + "x"))).item()
    places = dict(zip(index.attributes["names"].values, index.values))["variables"]
    data = read(path)

    def load(place):
        offset, size = place.values
        return Reader(inflate_record(data[offset : offset + size])).item()

    return {name: (lambda p=place: load(p)) for name, place in zip(places.attributes["names"].values, places.values)}


def cells(column):
    levels = column.attributes.get("levels")
    if levels is not None:
        return ["" if x is None else levels.values[x - 1] for x in column.values]
    return ["" if x is None else int(x) if isinstance(x, float) and x == int(x) else x for x in column.values]


def write(frame, wanted):
    names = frame.attributes["names"].values
    unknown = [name for name in wanted if name not in names]
    if unknown:
        sys.exit("no column %s; there are %s" % (", ".join(unknown), ", ".join(names)))
    columns = dict(zip(names, frame.values))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(wanted or names)
    out.writerows(zip(*[cells(columns[name]) for name in wanted or names]))


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__.split("\n\n")[1])
    found = objects(arguments[1])
    if len(arguments) == 2:
        print("\n".join(found))
    elif arguments[2] not in found:
        sys.exit("%s: no object %s; there are %s" % (arguments[1], arguments[2], ", ".join(found)))
    else:
        write(found[arguments[2]](), arguments[3:])


if __name__ == "__main__":
    main(sys.argv)
