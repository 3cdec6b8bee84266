"""The digits of the acceptance statements: UCI's 1 797 optical digits, 64 numbers 0..16 and a class, shuffled and cut into
1 437 training and 360 test rows as the reference does it (a permutation by Stream(2024, SHARD, 0, 0, 0), see algorithms'
randomness in libcore/base/rng.h). Python standard library only.

    write("data")     # data/train.csv, data/test.csv, with a header; False where the collection of data is absent
"""
import gzip
import os

SOURCE = os.environ.get("DADAM_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
DIGITS = os.path.join(SOURCE, "..", "shared", "data", "images", "digits8x8.csv.gz")
TRAIN = 1437
SHARD = 7
M64, M32 = (1 << 64) - 1, (1 << 32) - 1


def splitmix64(z):
    z = (z + 0x9E3779B97F4A7C15) & M64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def philox4x32_10(counter, key):
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & M32, (p0 >> 32) ^ c3 ^ k1, p0 & M32
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return c0, c1, c2, c3


def permutation(n, seed):
    """Fisher-Yates: i from n-1 down to 1 is swapped with element n-1-i of the stream, below i+1."""
    key = splitmix64(seed ^ splitmix64(SHARD))
    p = list(range(n))
    for element, i in enumerate(range(n - 1, 0, -1)):
        words = philox4x32_10((element >> 1, 0, 0, 0), (key & M32, key >> 32))
        j = words[1 + 2 * (element & 1)] * (i + 1) >> 32
        p[i], p[j] = p[j], p[i]
    return p


def write(folder):
    if not os.path.exists(DIGITS):
        return False
    with gzip.open(DIGITS, "rt", encoding="ascii") as f:
        rows = f.read().split()
    shuffled = [rows[i] for i in permutation(len(rows), 2024)]
    header = ",".join([*(f"p{i}" for i in range(64)), "digit"])
    for name, part in (("train", shuffled[:TRAIN]), ("test", shuffled[TRAIN:])):
        with open(os.path.join(folder, f"{name}.csv"), "w", encoding="ascii") as f:
            f.write("\n".join([header, *part]) + "\n")
    return True
