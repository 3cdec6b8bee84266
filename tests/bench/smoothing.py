#!/usr/bin/env python3
"""Which c for `smoothing: auto` (gamma of a layer = c times the rms of its initial parameters)?

    tests/bench/smoothing.py            two minutes of one core; needs NumPy

PPRS (K = 4, mu by the sequence, full batch) on two few-shot tasks: 10 classes of generated points in 64
dimensions, 5 of each, by ReLU networks of 7 layers of 32 and of 20 layers of 16. For every c the best of four
learning rates by the training loss at y at the end; median over 3 seeds of loss and of accuracy on 1000 new points.
c = 0 is AGD. The constant in libcore/optim/pprs.h was chosen from this table."""
import numpy as np

RATES, SMOOTHINGS, SEEDS, ITERATIONS, K = (0.003, 0.01, 0.03, 0.1), (0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3), (1, 2, 3), 200, 4


def task(rng, per_class):
    centres = rng.normal(size=(10, 64))
    def draw(n):
        labels = np.repeat(np.arange(10), n)
        return centres[labels] + 1.5 * rng.normal(size=(10 * n, 64)), labels
    return draw(per_class), draw(100)


def start(rng, sizes):
    return [[rng.normal(size=(o, i)) * np.sqrt(2 / i), np.zeros(o)] for i, o in zip(sizes, sizes[1:])]


def forward(layers, rows):
    kept = [rows]
    for l, (w, b) in enumerate(layers):
        out = kept[-1] @ w.T + b
        kept.append(np.maximum(out, 0) if l + 1 < len(layers) else out)
    return kept


def loss_and_gradient(layers, rows, labels):
    kept = forward(layers, rows)
    z = kept[-1] - kept[-1].max(1, keepdims=True)
    p = np.exp(z)
    p /= p.sum(1, keepdims=True)
    loss = -np.log(np.maximum(p[np.arange(len(rows)), labels], 1e-300)).mean()
    d = p
    d[np.arange(len(rows)), labels] -= 1
    d /= len(rows)
    grad = []
    for l in range(len(layers) - 1, -1, -1):
        grad.append([d.T @ kept[l], d.sum(0)])
        if l:
            d = (d @ layers[l][0]) * (kept[l] > 0)
    return loss, grad[::-1]


def train(seed, sizes, c, rate):
    rng = np.random.default_rng(seed)
    (rows, labels), (test_rows, test_labels) = task(rng, 5)
    x = start(rng, sizes)
    gammas = [c * np.sqrt(np.mean(np.concatenate([w.ravel(), b]) ** 2)) for w, b in x]
    y, lam = x, 1.0
    for _ in range(ITERATIONS):
        total = None
        for _ in range(K if c else 1):
            noisy = [[p + g * rng.normal(size=p.shape) for p in layer] for layer, g in zip(x, gammas)]
            grad = loss_and_gradient(noisy, rows, labels)[1]
            total = grad if total is None else [[a + b for a, b in zip(s, t)] for s, t in zip(total, grad)]
        after = (1 + np.sqrt(1 + 4 * lam * lam)) / 2
        mu, lam = (lam - 1) / after, after
        y1 = [[p - rate * g / (K if c else 1) for p, g in zip(s, t)] for s, t in zip(x, total)]
        x = [[(1 + mu) * a - mu * b for a, b in zip(s, t)] for s, t in zip(y1, y)]
        y = y1
    with np.errstate(all='ignore'):
        loss = loss_and_gradient(y, rows, labels)[0]
        right = np.mean(forward(y, test_rows)[-1].argmax(1) == test_labels)
    return (loss if np.isfinite(loss) else np.inf), right


def main():
    for name, sizes in (('7 layers of 32', [64] + [32] * 6 + [10]), ('20 layers of 16', [64] + [16] * 19 + [10])):
        print('%-16s %8s %10s %10s %8s' % (name, 'c', 'best rate', 'loss', 'right'))
        for c in SMOOTHINGS:
            table = {}
            for rate in RATES:
                with np.errstate(all='ignore'):
                    ends = [train(seed, sizes, c, rate) for seed in SEEDS]
                table[rate] = (float(np.median([e[0] for e in ends])), float(np.median([e[1] for e in ends])))
            best = min(table, key=lambda rate: table[rate][0])
            print('%-16s %8g %10g %10.4f %8.3f' % ('', c, best, *table[best]), flush=True)


if __name__ == '__main__':
    main()
