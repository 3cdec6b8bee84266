#!/usr/bin/env python3
"""The iteration of bench_mlp in PyTorch: one thread, K = 8 copies perturbed in place by torch.randn. CPU time."""
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("pytorch is not installed for this python3: no comparison")
    sys.exit(0)

ROWS, FEATURES, CLASSES, COPIES = 200, 784, 10, 8
SHAPES = [("64 64 64", [64] * 3), ("32 x 19", [32] * 19), ("256 256 256", [256] * 3)]
TURNS, TURN_SECONDS = 11, 0.1


def iteration(model, parameters, x, y, loss_of):
    start = [p.detach().clone() for p in parameters]
    total = [torch.zeros_like(p) for p in parameters]
    for _ in range(COPIES):
        with torch.no_grad():
            for p, s in zip(parameters, start):
                p.copy_(s + 0.01 * torch.randn_like(s))
        for t, g in zip(total, torch.autograd.grad(loss_of(model(x), y), parameters)):
            t += g
    with torch.no_grad():
        for p, s, t in zip(parameters, start, total):
            p.copy_(s - 0.001 * (t / COPIES))


def main():
    torch.set_num_threads(1)
    x, y, loss_of = torch.rand(ROWS, FEATURES), torch.arange(ROWS) % CLASSES, torch.nn.CrossEntropyLoss()
    for what, hidden in SHAPES:
        layers, width = [], FEATURES
        for h in hidden:
            layers += [torch.nn.Linear(width, h), torch.nn.ReLU()]
            width = h
        model = torch.nn.Sequential(*layers, torch.nn.Linear(width, CLASSES))
        parameters, ms = list(model.parameters()), []
        for _ in range(TURNS):
            start, n = time.process_time(), 0
            while time.process_time() - start < TURN_SECONDS:
                iteration(model, parameters, x, y, loss_of)
                n += 1
            ms.append(1e3 * (time.process_time() - start) / n)
        print(f"pytorch hidden {what:12} {sum(p.numel() for p in parameters):7} parameters, K = {COPIES}: iteration "
              f"{statistics.median(ms):.3f} ms", flush=True)


if __name__ == "__main__":
    main()
