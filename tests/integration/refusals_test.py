#!/usr/bin/env python3
"""What is refused, and with which words. One table per door of the system: configuration, job spec, data,
plugin, peer port, control socket. Each row says what is done, how it ends (exit status or phase of the job)
and the words that a person must read: what was found, what is allowed, what to do next. All rows of jobs and
bytes meet one daemon, and after each of them it answers, is as small as before, has lost nothing of its
state, and no worker is left."""
import errno
import os
import re
import socket
import stat
import struct
import subprocess

from harness import BUILD, DADAMCTL, DADAMD, SANITIZED, SLOWER, check, main, test

PLUGINS = os.path.join(BUILD, "tests", "plugins")
GROWTH_BYTES = 4 << 20


# ---- configuration: (text, words) ----

CONFIGS = [
    ("listne: 127.0.0.1:0", [r":1:1:", "unknown key 'listne'", "listen"]),
    ("listen: nowhere", [r":1:9:", "'nowhere'", "ADDRESS:PORT|address"]),
    ("listen: 127.0.0.1:99999", [r":1:9:", "99999", "ADDRESS:PORT"]),
    ("listen: 0.0.0.0:0", [r":1:9:", r"0\.0\.0\.0", "cluster.open", r"10/8|private"]),
    ("timeouts: {ping: 5parsecs}", [r":1:18:", "'5parsecs'", "50ms to 1m"]),
    ("timeouts: {silence: 200ms, ping: 1s}", ["silence", "ping", "200|0.2"]),
    ("log: {level: loud}", [r":1:14:", "'loud'", "warn, info, debug, trace"]),
    ("cluster: {name: My Lab}", [r":1:17:", "My Lab", "63 of a-z"]),
    ("data: {roots: /srv}", [r":1:15:", "one value", r"as \[a, b\]"]),
    ("log: {}\nlisten: 127.0.0.1:0\nlog: {}", ["log", "twice|already|duplicate"]),
    ("listen: [1, 2", [r":1:", "flow|expected|\\]"]),
    ("a: 1\n---\nb: 2", ["one document|documents"]),
    ("discovery: {seeds: [127.0.0.1:x]}", [r":1:13:", "127.0.0.1:x", "HOST:PORT"]),
]


@test
def configurations_are_refused_with_place_and_choice(c):
    for i, (text, words) in enumerate(CONFIGS):
        path = os.path.join(c.dir, f"{i}.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"{text}\n")
        for more in ([], ["--check-config"]):
            r = subprocess.run([DADAMD, "--config", path, *more], capture_output=True, text=True, timeout=20 * SLOWER)
            check(r.returncode == 78, f"exit {r.returncode} for {text!r}: {r.stderr}")
            says(text, r.stderr, words + [re.escape(path)])
    check(not [f for f in os.listdir(c.dir) if not f.endswith(".yaml")], "nothing was made")


def says(row, text, words):
    missing = [w for w in words if not re.search(w, text)]
    check(not missing, f"{row!r}: {missing} not in {text!r}")


# ---- specs: (changes of GOOD, words); None takes the line away ----

GOOD = {"name": "good", "model": "{plugin: quadratic, options: {params: 100}}", "data": "{format: none}",
        "algorithm": "{name: d-adam, period: 2}", "steps": "20", "batch": "4", "workers": "{min: 1, wait: 1s}"}

SPECS = [
    ({"stepz": "1"}, [r"bad.yaml:8:1:", "'stepz'", "steps"]),
    ({"steps": None}, ["steps", "epochs", "never end", "steps: 2000"]),
    ({"epochs": "3"}, ["steps", "epochs", "both"]),
    ({"steps": "-4"}, [r"bad.yaml:5:8:", "'-4'", "1 to"]),
    ({"model": None}, ["model.plugin", "missing", "plugin: deepfm"]),
    ({"model": "{plugin: ../../x}"}, [r"bad.yaml:2:", r"\.\./\.\./x", "a-z"]),
    ({"algorithm": "{name: adamw}"}, [r"bad.yaml:4:", "adamw", "d-adam"]),
    ({"algorithm": "{name: d-adam, learning_rate: fast}"}, [r"bad.yaml:4:", "'fast'", "learning_rate"]),
    ({"algorithm": "{name: d-adam, learning_rate: -1}"}, [r"bad.yaml:4:", "'-1'"]),
    ({"algorithm": "{name: d-adam, beta1: 1}"}, [r"bad.yaml:4:", "'1'", "beta1"]),
    ({"topology": "rink"}, ["bad.yaml", "rink", "ring"]),
    ({"topology": "hypercube", "workers": "{min: 3}"}, ["hypercube", "1, 2, 4, 8", "3", "exponential"]),
    ({"edges": "[[0, 1], [1, 99]]", "workers": "{min: 2}"}, [r"bad.yaml:\d+:\d+: edges: pair 2", "'99'", "0 to 63"]),
    ({"edges": "[[0, 1]]", "workers": "{min: 4}"}, ["edges name ranks 0 to 1", "2 workers", "min: 2"]),
    ({"topology": "{edges: [[0, 1], [2, 3]]}", "workers": "{min: 4}"}, ["do not connect all 4 workers"]),
    ({"topology": "one-peer-exponential", "algorithm": "{name: cd-adam}"}, ["cd-adam", "directed", "d-psgd"]),
    ({"workers": "{min: 4, max: 2}"}, ["bad.yaml", "max", "min", "4", "2"]),
    ({"workers": "{min: 100}"}, [r"bad.yaml:7:", "'100'", "1 to 64"]),
    ({"name": "My Job"}, [r"bad.yaml:1:", "My Job", "63 of a-z"]),
    ({"on_peer_loss": "panic"}, ["'panic'", "continue", "fail"]),
    ({"data": "{format: none, train: ../secret.txt}"}, [r"bad.yaml:3:", r"'\.\./secret.txt'", "data.roots", r"'\.\.'"]),
    ({"data": "{format: none, test_labels: ../secret.txt}"}, [r"bad.yaml:3:", "test_labels", r"'\.\./secret.txt'", "data.roots"]),
    ({"data": "{format: none, model: /etc/passwd}"}, [r"bad.yaml:3:", "'/etc/passwd'", "relative to data.roots"]),
    ({"data": "{format: none, train: /etc/passwd}"}, [r"bad.yaml:3:", "'/etc/passwd'", "relative to data.roots"]),
    ({"data": "{format: csv, train: x.csv, label: [1, 2"}, [r"bad.yaml:\d+:"]),
    ({"data": "{format: none, model: ../other.safetensors}"}, [r"bad.yaml:3:", "data.roots"]),
    # pipelines
    ({"stages": "4"}, [r"bad.yaml:8:9:", "d-adam", "pprs, agd, gd"]),
    ({"place": "[a, b]"}, [r"bad.yaml:8:", "place", "pprs"]),
    ({"batch": "full"}, [r"bad.yaml:6:8:", "'full'", "d-adam"]),
    ({"algorithm": "{name: d-psgd, momentum: sequence}"}, [r"bad.yaml:4:", "'sequence'", "0 to below 1"]),
    ({"algorithm": "{name: pprs}", "workers": None}, ["stages", "missing", "stages: 4"]),
    ({"algorithm": "{name: pprs, period: 2}", "stages": "2", "workers": None}, [r"bad.yaml:4:", "period", "gossip family"]),
    ({"algorithm": "{name: pprs, compress: sign}", "stages": "2", "workers": None}, [r"bad.yaml:4:", "compress", "take it out"]),
    ({"algorithm": "{name: pprs, moments: mixed}", "stages": "2", "workers": None}, [r"bad.yaml:4:", "moments"]),
    ({"algorithm": "{name: pprs, gossip_step: 0.5}", "stages": "2", "workers": None}, [r"bad.yaml:4:", "gossip_step"]),
    ({"algorithm": "{name: pprs, samples: 0}", "stages": "2", "workers": None}, [r"bad.yaml:4:", "'0'", "1 to 65536"]),
    ({"algorithm": "{name: pprs, smoothing: much}", "stages": "2", "workers": None}, [r"bad.yaml:4:", "'much'", "auto, or a number from 0"]),
    ({"algorithm": "{name: pprs, theory: {R: 1}}", "stages": "2", "workers": None}, [r"bad.yaml:4:", "without L", "theory: {R: 1, L: 1}"]),
    ({"algorithm": "{name: pprs, samples: 4, theory: {R: 1, L: 1}}", "stages": "2", "workers": None}, ["samples", "together with theory"]),
    ({"algorithm": "{name: agd, samples: 4}", "stages": "2", "workers": None}, ["samples", "agd", "one sample without noise"]),
    ({"algorithm": "{name: gd, smoothing: 0.1}", "stages": "2", "workers": None}, ["smoothing", "gd", "pprs"]),
    ({"algorithm": "{name: gd, momentum: 0.9}", "stages": "2", "workers": None}, ["momentum", "gd has none", "agd"]),
    ({"algorithm": "{name: gd}", "topology": "ring", "stages": "2", "workers": None}, ["'ring'", "path"]),
    ({"algorithm": "{name: gd}", "on_peer_loss": "continue", "stages": "2", "workers": None}, ["'continue'", "fail", "not whole"]),
    ({"algorithm": "{name: gd}", "cut": "[1, 2]", "stages": "2", "workers": None}, ["2 layers", "2 stages: 1, or auto"]),
    ({"algorithm": "{name: gd}", "cut": "[3, 2]", "workers": None}, ["layer 2 after 3", "ascending"]),
    ({"algorithm": "{name: gd}", "place": "[a, b, a]", "workers": None}, ["a is named", "neighbours"]),
    ({"algorithm": "{name: gd}", "place": "[a, b]", "stages": "3", "workers": None}, ["2 nodes", "3 stages: 3"]),
    ({"algorithm": "{name: gd}", "stages": "2", "workers": "{min: 3}"}, ["found 3", "2 stages", "raise stages"]),
    ({"algorithm": "{name: gd}", "stages": "2", "schedule": "gpipe", "workers": None}, ["'gpipe'", "1f1b, fill-drain"]),
    ({"algorithm": "{name: gd}", "stages": "2", "wire": "{activations: fp8}", "workers": None}, ["'fp8'", "float32, bf16"]),
]


def spec_text(changes):
    rows = {**GOOD, **changes}
    return "".join(f"{k}: {v}\n" for k, v in rows.items() if v is not None)


@test
def specs_are_refused_with_place_and_choice(c):
    d = c.daemon("a")
    path = os.path.join(c.dir, "bad.yaml")
    for changes, words in SPECS:
        with open(path, "w", encoding="utf-8") as f:
            f.write(spec_text(changes))
        r = d.ctl("submit", path, ok=False)
        check(r.returncode == 6, f"exit {r.returncode} for {changes}: {r.stderr}")
        says(changes, r.stderr, words)
    check(d.json("ls", "-a")["jobs"] == [], "no job came of them")



# ---- jobs that start and cannot go on: (name, changes of GOOD, phase, words of why and hint) ----

def good_rows(n=200):
    return "".join(f"{i % 2} 1:{i % 7} 2:0.5\n" for i in range(n))


DATA = {  # file below the root: bytes
    "good.txt": good_rows().encode(),
    "letters.txt": b"1 1:0.5\n0 1:0.5 2:x7\n" + good_rows().encode(),
    "empty.txt": b"",
    "binary.txt": bytes(range(256)) * 40,
    "oneclass.txt": b"1 1:0.5\n" * 200,
    "label.txt": b"2.5.1 1:0.5\n" * 20,
    "index.txt": b"1 99999999999999999999:1\n" * 20,
    "ratings.csv": b"user,item,rating\n" + b"".join(b"%d,%d,%d\n" % (i % 9, i % 5, i % 6) for i in range(200)),
    "ragged.csv": b"user,item,rating\n1,2,3\n1,2\n" + b"1,2,3\n" * 100,
}


def libsvm(train, more=""):
    return {"model": "{plugin: logreg}", "data": f"{{format: libsvm, train: {train}, test: good.txt{more}}}"}


def csv(train, label="rating >= 4", columns="user, item"):
    return {"model": "{plugin: logreg}",
            "data": f"{{format: csv, train: {train}, label: '{label}', categorical: [{columns}], test_fraction: 0.2}}"}


def plugin(name, options="{}"):
    return {"model": f"{{plugin: {name}, options: {options}}}"}


JOBS = [
    ("data-missing", libsvm("none.txt"), ["data missing none.txt", "/data", "put what is missing"]),
    ("data-letters", libsvm("letters.txt"), ["letters.txt:2", "x7", "number"]),
    ("data-empty", libsvm("empty.txt"), ["empty.txt", "no|0 "]),
    ("data-binary", libsvm("binary.txt"), ["binary.txt:1"]),
    ("data-oneclass", libsvm("oneclass.txt"), ["oneclass.txt", "class|label"]),
    ("data-label", libsvm("label.txt"), ["label.txt:1", "2.5.1"]),
    ("data-index", libsvm("index.txt"), ["index.txt:1", "99999999999999999999"]),
    ("data-column", csv("ratings.csv", columns="user, itme"), ["itme", "user, item|item"]),
    ("data-label-column", csv("ratings.csv", label="stars >= 4"), ["stars", "rating"]),
    ("data-ragged", csv("ragged.csv"), ["ragged.csv:3", "2", "3"]),
    ("data-link", libsvm("link.txt"), ["link.txt", "root"]),
    ("data-folder", libsvm("folder"), ["folder", "directory", "expected a file"]),
    ("data-pipe", libsvm("pipe"), ["pipe", "expected a file"]),
    ("data-format", {"model": "{plugin: logreg}", "data": "{format: parquet, train: good.txt}"}, ["parquet", "libsvm", "csv"]),
    ("data-key", libsvm("good.txt", ", lable: x"), ["lable"]),
    ("plugin-missing", plugin("nosuch"), ["no plugin nosuch", "plugins.dirs"]),
    ("plugin-text", plugin("text"), ["text", "header|ELF|short"]),
    ("plugin-empty", plugin("hollow"), ["hollow", "dadam_model_v1"]),
    ("plugin-abi", plugin("future"), ["future", r"ABI 9\.7", r"speaks \d+\.x", "model.h"]),
    ("plugin-small", plugin("small"), ["small", "bytes", "DADAM_MODEL_HEAD"]),
    ("plugin-name", plugin("alias"), ["alias", "calls itself quadratic"]),
    ("plugin-create", plugin("refusing", "{where: create}"), ["refusing", "create", "refuses on purpose"]),
    ("plugin-load", plugin("refusing", "{where: load}"), ["refusing", "load", "refuses on purpose"]),
    ("plugin-option", plugin("quadratic", "{colour: red}"), ["quadratic", "unknown option colour"]),
    ("plugin-no-params", plugin("quadratic", "{params: 0}"), ["n_params = 0", "1 to"]),
    ("plugin-huge", plugin("quadratic", "{params: 99999999999999}"), ["n_params = 99999999999999", "to 1099511627776"]),
    ("workers", {"workers": "{min: 3, wait: 1s}"}, ["peers 1/3", "only 1 node", "workers.min"]),
    ("place", {"algorithm": "{name: gd}", "place": "[a, nobody]", "workers": "{wait: 1s}"},
     ["peers 1/2", r"nobody \(place\) is not here", "start the nodes of place"]),
]

SOURCES = {
    "hollow": "int nothing;",
    "future": "struct { unsigned short major, minor; unsigned size; const char *name; void *f[9]; } "
              "dadam_model_v1 = {9, 7, sizeof dadam_model_v1, \"future\"};",
    "small": "struct { unsigned short major, minor; unsigned size; const char *name; void *f[9]; } "
             "dadam_model_v1 = {1, 0, 16, \"small\"};",
}


def make_files(c):
    root, dirs = os.path.join(c.dir, "data"), os.path.join(c.dir, "plugins")
    os.mkdir(root)
    os.mkdir(dirs)
    for name, content in {**DATA, "../secret.txt": DATA["good.txt"]}.items():
        with open(os.path.join(root, name), "wb") as f:
            f.write(content)
    os.symlink("../secret.txt", os.path.join(root, "link.txt"))
    os.mkdir(os.path.join(root, "folder"))
    os.mkfifo(os.path.join(root, "pipe"))
    with open(os.path.join(dirs, "text.so"), "w", encoding="ascii") as f:
        f.write("this is no library\n" * 10)
    with open(os.path.join(PLUGINS, "quadratic.so"), "rb") as f, open(os.path.join(dirs, "alias.so"), "wb") as g:
        g.write(f.read())
    for name, source in SOURCES.items():
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", os.path.join(dirs, f"{name}.so")], input=source.encode(),
                       check=True)
    return root, dirs


def one_daemon(c):
    root, dirs = make_files(c)
    return c.daemon("a", data=[root], extra=f"plugins: {{dirs: [{dirs}, {PLUGINS}]}}\n")


def is_whole(c, d, jobs):
    """It answers, has no worker, and of every job record and log are there."""
    c.wait(10, lambda: not d.workers(), "no worker is left")
    check(d.json("status")["node"]["name"] == "a", "it answers")
    for name in jobs:
        j = d.json("show", name)["jobs"][0]
        folder = os.path.join(d.state, "jobs", j["id"])
        check(os.path.exists(os.path.join(folder, "record")), f"the record of {name} is there")
        check(j["why"] and "FAILED" in d.ctl("logs", name).stdout, f"the log of {name} tells the end")


def submit_good(c, d):
    path = os.path.join(c.dir, "good.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(spec_text({}))
    d.ctl("submit", path, "--wait")


@test
def jobs_that_cannot_start_fail_with_a_sentence(c):
    d = one_daemon(c)
    path = os.path.join(c.dir, "job.yaml")
    submit_good(c, d)
    size = d.resident_bytes()
    for name, changes, _ in JOBS:
        with open(path, "w", encoding="utf-8") as f:
            f.write(spec_text({"name": name, **changes}))
        d.ctl("submit", path)
    for name, _, words in JOBS:
        r = d.ctl("watch", name, ok=False)
        j = d.json("show", name)["jobs"][0]
        status = 1 if j["ranks"] else 7
        check(j["phase"] == "failed" and r.returncode == status, f"{name}: {j['phase']}, exit {r.returncode}: {j['why']}")
        says(name, r.stderr + d.ctl("logs", name).stdout, words)
    is_whole(c, d, [j[0] for j in JOBS])
    grown = d.resident_bytes() - size
    print(f"# {len(JOBS)} jobs, {grown / 1e6:.1f} MB more")
    check(SANITIZED or grown < GROWTH_BYTES, f"grown by {grown} bytes")
    d.kill()
    d.start()
    is_whole(c, d, [j[0] for j in JOBS])


# ---- bytes on the peer port and on the control socket ----

def crc32c(data):
    crc = 0xffffffff
    for b in data:
        crc ^= b
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def frame(kind, head=b"", payload=b"", magic=b"DADM", version=1, flags=None, head_bytes=None, payload_bytes=None, spoil=0):
    """A frame (WIRE.md 1), or one with a lie in its header and a right checksum."""
    flags = (1 if payload else 0) if flags is None else flags
    start = magic + struct.pack("<BBHII", version, kind, flags, len(head) if head_bytes is None else head_bytes,
                                len(payload) if payload_bytes is None else payload_bytes)
    return start + struct.pack("<I", crc32c(start + b"\0\0\0\0" + head + payload) ^ spoil) + head + payload


def field(number, value):
    """A protobuf field: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def message(**fields):
    return b"".join(field(int(k[1:]), v) for k, v in fields.items())


HELLO, PING, MEMBERS, JOB_RECORD, LINK_OFFER, LINK_HELLO, LINK_UP, DELTA, REQUEST, RESPONSE = 1, 2, 4, 6, 10, 12, 32, 34, 96, 97
OTHER = b"\x01" * 16


def hello(cluster=b"default", least=1, most=1, node=OTHER, name=b"stranger"):
    return frame(HELLO, message(f1=least, f2=most, f3=node, f4=1, f5=name, f6=cluster, f7=b":1", f8=b"0.1.0"))


def link_hello(secret=b"s" * 16, cluster=b"default", job=OTHER):
    return frame(LINK_HELLO, message(f1=1, f2=1, f3=cluster, f4=job, f5=1, f6=0, f7=secret))


PEER = [  # (what, bytes, words of its answer and log)
    ("http", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", ["starts with 44 41 44 4d"]),
    ("version", frame(HELLO, version=9), ["version 9", "1"]),
    ("checksum", frame(HELLO, b"x", spoil=1), ["checksum"]),
    ("head of 4 GB", frame(HELLO, head_bytes=0xffffffff), ["4294967295", r"limit \d+"]),
    ("payload of 4 GB", frame(JOB_RECORD, flags=1, payload_bytes=0xffffffff), ["4294967295", r"limit \d+"]),
    ("unknown type", frame(99), ["type 99"]),
    ("a link's frame first", frame(LINK_UP, message(f1=1)), ["type 32"]),
    ("ping before hello", frame(PING, message(f1=1, f2=1)), ["first frame is PING", "hello"]),
    ("hello of another cluster", hello(cluster=b"other"), ["cluster", "other", "default"]),
    ("hello of another protocol", hello(least=7, most=9), ["7", "9", "protocol"]),
    ("hello without an id", hello(node=b""), ["PeerHello.node: 0 bytes", "16"]),
    ("hello with a bell in its name", hello(name=b"\a"), ["PeerHello.name", "byte 07"]),
    ("a frame cut short", hello()[:-3], []),
    ("hello, then garbage", hello() + b"garbage" * 10, ["bytes 67 61 72 62"]),
    ("hello, then a ping with a long varint", hello() + frame(PING, b"\x08" + b"\xff" * 11), ["PeerPing"]),
    ("hello, then 5 000 members", hello() + frame(MEMBERS, field(1, b"") * 5000), ["5000", "limit 128"]),
    ("hello, then a record without a spec", hello() + frame(JOB_RECORD, b"\x0a\x00"), ["payload is missing"]),
    ("link of no job", link_hello(), ["link refused", "no worker of this job"]),
    ("link with a short secret", link_hello(secret=b"s"), ["secret: 1 bytes", "must be 16"]),
    ("link of another cluster", link_hello(cluster=b"other"), ["link refused", "another cluster"]),
    ("link, then a delta at once", link_hello() + frame(DELTA, message(f1=1), b"\0" * 4096), ["link refused"]),
]

CONTROL = [  # (what, bytes, words of its answer and log)
    ("random", bytes(range(7, 256)) * 9, ["starts with 44 41 44 4d"]),
    ("a peer's hello", hello(), ["type 1 ", "a request is 96"]),
    ("an unknown type of frame", frame(98), ["type 98", "a request is 96"]),
    ("an unknown type of request", frame(REQUEST, message(f1=77)), ["77", "allowed 1 to 9"]),
    ("no type of request", frame(REQUEST), ["type: 0", "allowed 1 to 9"]),
    ("a response", frame(RESPONSE, message(f1=1)), ["type 97", "a request is 96"]),
    ("a head of 4 GB", frame(REQUEST, head_bytes=0xffffffff), ["4294967295", "limit 65536"]),
    ("a payload of 4 GB", frame(REQUEST, flags=1, payload_bytes=0xffffffff), ["4294967295", "limit 262144"]),
    ("a spec of 200 KB", frame(REQUEST, message(f1=5) + b"\x7a\xc0\x9a\x0c", b"a" * 200000), ["200000 bytes", "allowed 1 to 32768"]),
    ("a payload that is not announced", frame(REQUEST, message(f1=5), b"a" * 100), ["payload"]),
    ("a header cut short", frame(REQUEST, message(f1=1))[:11], []),
    ("a request cut short", frame(REQUEST, message(f1=1))[:-1], []),
    ("a spec of zeros", frame(REQUEST, message(f1=5) + b"\x7a\x64", b"\0" * 100), ["the job spec: byte 00"]),
    ("a spec that is no YAML", frame(REQUEST, message(f1=5) + b"\x7a\x07", b"{{{[[[:"), ["spec:2:1: not YAML"]),
    ("a job with a name of 60 KB", frame(REQUEST, message(f1=4, f2=b"x" * 60000)), ["ControlRequest.job: 60000 bytes", "limit"]),
    ("a job that is not there", frame(REQUEST, message(f1=4, f2=b"x")), ['"x"', "dadamctl ls"]),
    ("a log from the far end", frame(REQUEST, message(f1=7, f2=b"good", f4=(1 << 64) - 1)), []),
    ("a model that is not there", frame(REQUEST, message(f1=8, f2=b"nojob")), ['"nojob"', "dadamctl ls"]),
]


def answer_to(target, data):
    """What comes back until the daemon closes, or for a moment when it waits for more."""
    s = socket.socket(socket.AF_UNIX if isinstance(target, str) else socket.AF_INET)
    s.settimeout(10 * SLOWER)
    s.connect(target)
    got = b""
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        while True:
            more = s.recv(65536)
            if not more:
                break
            got += more
    except OSError as e:  # closed while we were sending
        check(e.errno in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN), str(e))
    finally:
        s.close()
    return got


@test
def bytes_that_break_the_rules_are_hung_up_on_with_the_reason(c):
    d = c.daemon("a", extra=f"plugins: {{dirs: [{PLUGINS}]}}\n")
    submit_good(c, d)
    size = d.resident_bytes()
    rows = [(("127.0.0.1", d.port), *row) for row in PEER] + [(d.socket, *row) for row in CONTROL]
    for target, what, data, words in rows:
        at = os.path.getsize(d.log_path)
        got = answer_to(target, data).decode("latin-1")
        c.wait(5, lambda: all(re.search(w, d.log(at) + got) for w in words), f"{what}: {words} in the log or in {got!r}")
    grown = d.resident_bytes() - size
    print(f"# {len(PEER)} + {len(CONTROL)} kinds of bytes, {grown / 1e6:.1f} MB more")
    check(SANITIZED or grown < GROWTH_BYTES, f"grown by {grown} bytes")
    check(d.states() == {"a": "alive"} or d.alive() == 1, f"nobody else is alive: {d.states()}")
    check(len(d.json("ls", "-a")["jobs"]) == 1, "no job came of them")
    check(d.json("show", "good")["jobs"][0]["phase"] == "done" and "DONE" in d.ctl("logs", "good").stdout, "the job is whole")
    check(not d.workers(), "no worker is left")


@test
def an_export_replaces_files_and_nothing_else(c):
    """It is renamed into its place: root's `-o /dev/null` must not put a file there."""
    d = c.daemon("a", extra=f"plugins: {{dirs: [{PLUGINS}]}}\n")
    submit_good(c, d)
    place = os.path.join(c.dir, "place")
    os.mkfifo(place)
    r = d.ctl("export", "good", "-o", place, ok=False)
    check(r.returncode == 2, f"exit {r.returncode}")
    says("fifo", r.stderr, ["place is a device, pipe or socket", "allowed: a file", "-o -"])
    check(stat.S_ISFIFO(os.lstat(place).st_mode), "the pipe is there still")
    r = d.ctl("export", "good", "-o", c.dir, ok=False)
    check(r.returncode == 2 and "is a folder" in r.stderr, r.stderr)
    r = d.ctl("export", "good", "-o", os.path.join(c.dir, "none", "m"), ok=False)
    check(r.returncode == 1, f"exit {r.returncode}")
    says("no folder", r.stderr, ["No such file", "a folder that is there"])
    r = d.ctl("export", "good", "-o", "json", ok=False)
    check(r.returncode == 2, f"exit {r.returncode}")
    says("-o json", r.stderr, ["the file here", "'json'", "-o json export JOB -o FILE", r"\./json"])
    real, link = os.path.join(c.dir, "real"), os.path.join(c.dir, "link")
    open(real, "wb").close()
    os.symlink("real", link)
    before = sorted(os.listdir(c.dir))
    r = d.ctl("export", "good", "-o", link, ok=False)
    check(r.returncode == 1, f"exit {r.returncode}")
    says("a file that is there", r.stderr, ["link is there already", "another -o FILE", "--force"])
    check(os.path.getsize(real) == 0 and sorted(os.listdir(c.dir)) == before, f"nothing was touched: {os.listdir(c.dir)}")
    d.ctl("export", "good", "-o", link, "--force")
    check(os.path.islink(link) and os.path.getsize(real) > 400, "the link leads to the model")


@test
def a_job_is_found_by_a_name_as_long_as_a_spec_may_give_it(c):
    d = c.daemon("a", extra=f"plugins: {{dirs: [{PLUGINS}]}}\n")
    path, name = os.path.join(c.dir, "long.yaml"), "n" * 63
    with open(path, "w", encoding="utf-8") as f:
        f.write(spec_text({"name": name}))
    d.ctl("submit", path, "--wait", timeout=60)
    check(d.json("show", name)["jobs"][0]["name"] == name, "show")
    d.ctl("watch", name)
    r = d.ctl("show", name + "n", ok=False)
    check(r.returncode == 2, f"exit {r.returncode}: {r.stderr}")


@test
def a_wrong_set_is_told_without_lines_that_nobody_sees(c):
    d = c.daemon("a")
    path = os.path.join(c.dir, "good.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(spec_text({}))
    for change, words in (("stepz=1", ["good.yaml with --set: unknown key 'stepz'", "steps"]),
                          ("steps=-4", ["good.yaml with --set: steps: found '-4'", "1 to"]),
                          ("steps", ["--set: 'steps'", "KEY=VALUE"])):
        r = d.ctl("submit", path, "--set", change, ok=False)
        check(r.returncode == 6, f"exit {r.returncode}")
        says(change, r.stderr, words)
    r = d.ctl("submit", DADAMCTL, ok=False)
    check(r.returncode == 6, f"exit {r.returncode}")
    says("a program as spec", r.stderr, ["longer than 32768 bytes", "YAML"])


main()
