#!/usr/bin/env python3
"""Reads the model files that real workers wrote, with nothing of dadam's: json and struct, as the
safetensors format says. Usage: worker_file.py WORKER_PAIR (its `keep DIR` leaves three ranks' files)."""
import json
import os
import struct
import subprocess
import sys
import tempfile


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    meta = header.pop("__metadata__")
    body, tensors, end = data[8 + length:], {}, 0
    for name, t in sorted(header.items(), key=lambda i: i[1]["data_offsets"]):
        assert t["dtype"] == "F32" and len(t["shape"]) == 1, t
        start, stop = t["data_offsets"]
        assert start == end and stop - start == 4 * t["shape"][0], (name, t)
        tensors[name] = struct.unpack("<%df" % t["shape"][0], body[start:stop])
        end = stop
    assert end == len(body), "bytes after the last tensor"
    return meta, tensors


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], "keep", folder], check=True, stdout=subprocess.DEVNULL)
        local = {}
        for rank in range(3):
            files = sorted(os.listdir(os.path.join(folder, str(rank))))
            assert files == ["local.safetensors", "mean.safetensors"], files
            meta, local[rank] = read(os.path.join(folder, str(rank), "local.safetensors"))
            assert meta["take"] == "local" and meta["rank"] == str(rank) and meta["step"] == "14", meta
            assert meta["job"] == "d1" + "0" * 30 and meta["name"] == "test" and meta["plugin"] == "quadratic", meta
            assert {k: len(v) for k, v in local[rank].items()} == {"first": 1667, "rest": 3333}
            meta, mean = read(os.path.join(folder, str(rank), "mean.safetensors"))
            assert meta["take"] == "mean" and meta["mean_of"] == "3", meta
        for name in ("first", "rest"):
            for i, m in enumerate(mean[name]):
                right = sum(local[r][name][i] for r in range(3)) / 3
                assert abs(m - right) < 1e-6, (name, i, m, right)
    print("ok 1 - model files of three ranks are read back, and the mean is the mean\n1..1")


main()
