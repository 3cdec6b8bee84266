#!/usr/bin/env python3
"""The house rules that a program can hold: layers, cycles, sizes, stories, top level. Speaks TAP.

  layers   what each folder may include, as the table below (the plan's table, word for word)
  cycles   no header reaches itself
  sizes    functions: median under 15 lines, none over 80; files at most 600 lines
  stories  a C file opens with a comment
  top      nothing at the top but what the plan names
  asserts  no abort/exit below main

Usage: lint.py SOURCE_ROOT
"""
import os
import re
import statistics
import subprocess
import sys

ROOT = sys.argv[1]
C_STANDARD = {"assert.h", "ctype.h", "errno.h", "float.h", "inttypes.h", "limits.h", "math.h", "stdarg.h", "stdbool.h",
              "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h", "stdatomic.h", "locale.h", "signal.h"}

# folder: (folders of this project, outside headers by pattern; None = anything of the system)
LAYERS = {
    "libcore/base": ([], r"$^"),
    "libcore/topology": (["libcore/base"], r"$^"),
    "libcore/optim": (["libcore/base"], r"$^"),
    "libcore/compress": (["libcore/base"], r"zstd.*\.h|immintrin\.h"),
    "libcore/mix": (["libcore/base"], r"$^"),
    "libcore/round": (["libcore/base", "libcore/topology", "libcore/optim", "libcore/compress", "libcore/mix"], r"$^"),
    "libcore/settings": (["libcore/base"], r"libfyaml\.h|arpa/inet\.h|netinet/in\.h|sys/socket\.h|unistd\.h"),
    "libcore/model": (["libcore/base"], r"dadam/model\.h"),
    "libcore/data": (["libcore/base", "libcore/model"], r"dadam/model\.h|fcntl\.h|unistd\.h|sys/.*\.h|zlib\.h"),
    "libcore/models": (["libcore/model", "libcore/data", "libcore/base"], r"dadam/model\.h|cblas\.h|dnnl.*\.h|pthread\.h"),
    "proto": (["libcore/base"], r"protobuf-c/.*|isa-l.*|crc\.h|.*\.pb-c\.h"),
    "daemon/node": (["libcore/base", "libcore/topology", "proto"], r"$^"),
    "daemon/io": (["libcore/base", "proto"], None),
    "daemon/control": (["libcore/base", "proto", "daemon/node/node.h", "daemon/io"], None),
    "daemon/store": (["libcore/base", "proto", "daemon/node/node.h"], None),
    "daemon/worker": (["libcore/base", "proto", "daemon/io", "libcore/topology", "libcore/optim", "libcore/compress",
                       "libcore/mix", "libcore/round", "libcore/settings", "libcore/model"], None),
    "daemon": (["libcore/base", "libcore/settings", "libcore/topology", "libcore/round", "libcore/compress", "proto", "daemon/node", "daemon/io", "daemon/control", "daemon/store"], None),
    "ctl": (["libcore/base", "proto", "libcore/settings", "libcore/topology"], None),
}
# outside libraries that only these folders may see
ONLY = {r"uv\.h": ["daemon/io", "daemon/control", "daemon/worker", "daemon"], r"libfyaml\.h": ["libcore/settings"],
        r"protobuf-c/.*|.*\.pb-c\.h": ["proto"], r"isa-l.*|crc\.h": ["proto"], r"zstd.*": ["libcore/compress"],
        r"jansson\.h": ["ctl"], r"zlib\.h": ["libcore/data"], r"cblas\.h": ["libcore/models"]}
TOP = {"meson.build", "meson_options.txt", "README.md", "LICENSE", "CHANGELOG.md", "proto", "libcore", "daemon", "ctl", "tests", "deploy"}
PRODUCT = ("libcore", "proto", "daemon", "ctl")


def files(*suffixes):
    try:
        out = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout
        names = out.splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = []
        for folder, subfolders, found in os.walk(ROOT):
            subfolders[:] = [s for s in subfolders if not s.startswith((".", "build"))]
            names += [os.path.relpath(os.path.join(folder, f), ROOT) for f in found]
    return [n for n in names if n.endswith(suffixes) and os.path.exists(os.path.join(ROOT, n))] if suffixes else names


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def includes(name):
    return re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', read(name), re.M)


def layer_of(name):
    folder = os.path.dirname(name)
    while folder and folder not in LAYERS:
        folder = os.path.dirname(folder)
    return folder


def check_layers():
    for name in files(".c", ".h"):
        if not name.startswith(PRODUCT):
            continue
        layer = layer_of(name)
        if not layer:
            yield f"{name}: in no layer of the plan"
            continue
        allowed, outside = LAYERS[layer]
        for kind, header in includes(name):
            if kind == '"' and header.startswith(PRODUCT) and not header.endswith(".pb-c.h"):
                if not any(layer_of(header) == a or header == a for a in allowed + [layer]):
                    yield f"{name}: includes {header}; {layer} may see {', '.join(allowed) or 'nothing'}"
            elif kind == '"' and not header.endswith(".pb-c.h"):
                yield f'{name}: "{header}" is not written from the root'
            elif header not in C_STANDARD and outside is not None and not re.fullmatch(outside, header):
                yield f"{name}: includes <{header}>, which {layer} may not"
            for pattern, folders in ONLY.items():
                if re.fullmatch(pattern, header) and layer not in folders:
                    yield f"{name}: {header} belongs to {', '.join(folders)} only"


def check_cycles():
    graph = {n: [h for k, h in includes(n) if k == '"'] for n in files(".h")}
    state = {}

    def walk(node, path):
        if state.get(node) == "done":
            return None
        if node in path:
            return path[path.index(node):] + [node]
        for after in graph.get(node, []):
            found = walk(after, path + [node])
            if found:
                return found
        state[node] = "done"
        return None
    for name in graph:
        found = walk(name, [])
        if found:
            yield " -> ".join(found)
            return


def functions(name):
    """(first line, length) of every function: its body stands between { and } in column 0."""
    lines, start = read(name).splitlines(), None
    for i, line in enumerate(lines):
        if line == "{":
            start = i
        elif line == "}" and start is not None:
            yield start, i - start - 1
            start = None


def check_sizes():
    lengths = []
    for name in files(".c", ".h"):
        n_lines = read(name).count("\n")
        if n_lines > 600:
            yield f"{name}: {n_lines} lines, at most 600"
        for start, length in functions(name):
            if name.startswith(PRODUCT):
                lengths.append(length)
            if length > 80:
                yield f"{name}:{start}: a function of {length} lines, at most 80"
    if lengths and statistics.median(lengths) >= 15:
        yield f"the median function has {statistics.median(lengths)} lines, under 15 wanted"
    if lengths:
        print(f"# {len(lengths)} functions, median {statistics.median(lengths)} lines, longest {max(lengths)}")


def check_stories():
    for name in files(".c", ".h"):
        if not read(name).lstrip().startswith("/*"):
            yield f"{name}: does not open with its story"


def check_top():
    for name in sorted({n.split("/")[0] for n in files()}):
        if name not in TOP and not name.startswith("."):
            yield f"{name}: not in the plan's top level"


def check_exits():
    for name in files(".c"):
        if name.startswith(PRODUCT) and not name.endswith("main.c"):
            for i, line in enumerate(read(name).splitlines(), 1):
                if re.search(r"(?<![\w.>])(abort|exit)\(", line) and not line.lstrip().startswith(("*", "/*")):
                    yield f"{name}:{i}: {line.strip()}: only main ends the program"


def main():
    checks = [("includes_point_down_as_the_layer_table_says", check_layers), ("no_header_includes_itself_by_a_detour", check_cycles),
              ("functions_and_files_stay_small", check_sizes), ("every_file_opens_with_its_story", check_stories),
              ("the_top_level_is_what_the_plan_names", check_top), ("nothing_below_main_ends_the_program", check_exits)]
    print(f"1..{len(checks)}")
    bad = False
    for number, (title, check) in enumerate(checks, 1):
        faults = list(check())
        for fault in faults:
            print(f"# {fault}")
        bad |= bool(faults)
        print(f"{'not ok' if faults else 'ok'} {number} - {title}")
    return 1 if bad else 0


sys.exit(main())
