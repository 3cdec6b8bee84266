#!/usr/bin/env python3
"""The least values in convex.c, by linear programming: minimum.py PROGRAM (needs numpy, scipy; run once by hand).

PROGRAM is the program `experiments_pipeline`, which prints the matrices."""
import subprocess
import sys

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog


def matrices(name, seed):
    lines = subprocess.run([sys.argv[1], "print", name, str(seed)], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
    out, at = {}, 0
    while lines[at]:
        what, rows, columns = lines[at].split()
        size = int(rows) * int(columns)
        out[what] = np.array([float(x) for x in lines[at + 1:at + 1 + size]]).reshape(int(rows), int(columns))
        at += 1 + size
    return out


def linf(m):
    """min t with -t <= A x - b <= t"""
    a, b = m["a"], m["b"][:, 0]
    ones, d = np.ones((len(b), 1)), a.shape[1]
    return linprog(np.r_[np.zeros(d), 1], A_ub=np.block([[a, -ones], [-a, -ones]]), b_ub=np.r_[b, -b],
                   bounds=[(None, None)] * d + [(0, None)], method="highs").fun


def icnn(m):
    """min t with h_l >= W_l h_(l-1) + U_l x + b_l, h >= 0, t >= the last h: tight at the minimum, as W >= 0"""
    width, d = m["w"].shape[1], m["u"].shape[1]
    n = m["u"].shape[0]
    below = sp.lil_matrix((n, n))
    for first in range(width, n, width):
        below[first:first + width, first - width:first] = m["w"][first:first + width]
    rows = sp.hstack([sp.csr_matrix(m["u"]), below - sp.eye(n), sp.csr_matrix((n, 1))])
    last = sp.hstack([sp.csr_matrix((width, d + n - width)), sp.eye(width), -np.ones((width, 1))])
    return linprog(np.r_[np.zeros(d + n), 1], A_ub=sp.vstack([rows, last]).tocsr(), b_ub=np.r_[-m["b"][:, 0], np.zeros(width)],
                   bounds=[(None, None)] * d + [(0, None)] * (n + 1), method="highs").fun


for problem in (linf, icnn):
    print(problem.__name__, ", ".join(repr(float(problem(matrices(problem.__name__, seed)))) for seed in range(1, 11)))
