#!/usr/bin/env python3
"""deploy/demo.sh --pipeline as a person runs it: two pipelines over four daemons, and a picture of what the second did."""
import os
import re
import struct
import subprocess
import zlib

from harness import BUILD, SLOWER, check, main, skip, test

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CLOTHES = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"


def png_size(path):
    """Width and height of a grey PNG whose bytes are all there."""
    with open(path, "rb") as f:
        data = f.read()
    check(data[:8] == b"\x89PNG\r\n\x1a\n", "a PNG")
    chunks, at = {}, 8
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        check(struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(kind + body), f"the sum of {kind}")
        chunks[kind] = body
        at += 12 + size
    width, height = struct.unpack_from(">II", chunks[b"IHDR"])
    check(len(zlib.decompress(chunks[b"IDAT"])) == height * (width + 1), "every line is there")
    return width, height


@test
def the_pipeline_demo_trains_attacks_and_draws(c):
    if not os.path.exists(CLOTHES):
        skip("dataset-fashion-mnist is not installed")
    picture = os.path.join(c.dir, "attack.png")
    r = subprocess.run([os.path.join(SOURCE, "deploy", "demo.sh"), "--pipeline", "--build", BUILD, "--picture", picture],
                       capture_output=True, text=True, timeout=150 * SLOWER, stdin=subprocess.DEVNULL)
    check(r.returncode == 0 and r.stdout.endswith("demo: ok\n"), f"exit {r.returncode}: {r.stdout[-3000:]} {r.stderr[-2000:]}")
    check(len(re.findall(r"DONE  step (\d+) / \1 ", r.stdout)) == 2, "both jobs are done")
    check("stage 0   F0 F1 F2 F3 .  .  .  B0" in r.stdout, "the schedule is drawn")
    check(png_size(picture) == (10 * 116 - 4, 3 * 116 - 4), f"ten columns of three pictures: {png_size(picture)}")


if __name__ == "__main__":
    main()
