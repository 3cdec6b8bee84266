#!/usr/bin/env python3
"""What an attack (deploy/examples/fashion-attack.yaml) did, as words and as a picture.

  deploy/picture.py MODEL PERTURBATION IMAGES LABELS OUT.png

MODEL and PERTURBATION are what `dadamctl export` wrote of the two jobs, IMAGES and LABELS the IDX files (gzip or
not) whose first rows were attacked. Each column of the picture is one row: the original, the perturbation (five
times as strong, on grey), the result. What the model says is computed here anew, from the files alone. Exit 0 when
every change stays within the attack's bound of pixels (0 to 1) and at least half of the pictures are taken for
something else, which the model took for what they are before. Python's standard library only."""
import gzip
import json
import struct
import sys
import zlib

NAMES = ["T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"]
ZOOM, GAP, STRONGER = 4, 4, 5


def safetensors(path):
    """Name -> (shape, numbers); float32 only."""
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack_from("<Q", data)[0]
    tensors = {}
    for name, t in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            tensors[name] = t["shape"], struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin:8 + size + end])
    return tensors


def idx(path):
    """Shape and bytes of an IDX file of unsigned bytes."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    shape = struct.unpack_from(f">{data[3]}I", data, 4)
    return shape, data[4 + 4 * data[3]:]


def says(model, pixels):
    """The class with the greatest output of a perceptron with ReLUs."""
    x, n = list(pixels), len(model) // 2
    for layer in range(1, n + 1):
        (rows, cols), w = model[f"layer{layer}.weight"]
        bias = model[f"layer{layer}.bias"][1]
        x = [bias[r] + sum(a * b for a, b in zip(w[r * cols:(r + 1) * cols], x)) for r in range(rows)]
        if layer < n:
            x = [max(v, 0) for v in x]
    return x.index(max(x))


def grey(value):
    return max(0, min(255, round(255 * value)))


def png(path, columns, height, width):
    """Columns of pictures (lists of numbers from 0 to 1), side by side, each pixel ZOOM pixels wide."""
    lines = []
    for k in range(len(columns[0])):
        for y in range(height):
            line = b""
            for pictures in columns:
                row = pictures[k][y * width:(y + 1) * width]
                line += b"".join(bytes([grey(v)]) * ZOOM for v in row) + b"\xff" * GAP
            lines += [line[:-GAP]] * ZOOM
        lines += [b"\xff" * len(lines[0])] * GAP
    lines = lines[:-GAP]

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", len(lines[0]), len(lines), 8, 0, 0, 0, 0)
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
                + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + line for line in lines))) + chunk(b"IEND", b""))


def main():
    if len(sys.argv) != 6:
        sys.exit("usage: deploy/picture.py MODEL PERTURBATION IMAGES LABELS OUT.png")
    model, (shape, change) = safetensors(sys.argv[1]), safetensors(sys.argv[2])["perturbation"]
    (_, height, width), pixels = idx(sys.argv[3])
    labels, size, columns = idx(sys.argv[4])[1], height * width, []
    right = fooled = 0
    greatest = outside = 0.0
    for i in range(shape[0]):
        before = [v / 255 for v in pixels[i * size:(i + 1) * size]]
        delta = change[i * size:(i + 1) * size]
        after = [a + b for a, b in zip(before, delta)]
        first, then = says(model, before), says(model, after)
        greatest = max(greatest, max(map(abs, delta)))
        outside = max(outside, -min(after), max(after) - 1)
        right += first == labels[i]
        fooled += first == labels[i] and then != labels[i]
        print(f"  {NAMES[labels[i]]:10}  taken for {NAMES[first]:10}  after the attack for {NAMES[then]:10}"
              f"  greatest change {max(map(abs, delta)):.3f}")
        columns.append((before, [0.5 + STRONGER * v for v in delta], after))
    png(sys.argv[5], columns, height, width)
    print(f"{fooled} of the {right} pictures that the model knew are taken for something else; no pixel moved by more than"
          f" {greatest:.3f} of 1")
    if outside > 1e-6 or 2 * fooled < right or right == 0:
        sys.exit("the attack did not do what it should")


main()
