#!/usr/bin/env python3
"""The same DeepFM steps as bench_deepfm in PyTorch: one thread, dense Adam, ids drawn uniformly per field. CPU time."""
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("pytorch is not installed for this python3: no comparison")
    sys.exit(0)

VOCABULARY = [2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 800, 1500]
SIZES = [(8, [32, 16]), (64, [400, 128])]
TURNS, TURN_SECONDS = 9, 0.2


class DeepFM(torch.nn.Module):
    def __init__(self, factors, hidden):
        super().__init__()
        values = sum(VOCABULARY)
        self.bias = torch.nn.Parameter(torch.zeros(1))
        self.linear = torch.nn.Embedding(values, 1)
        self.embedding = torch.nn.Embedding(values, factors)
        layers, width = [], len(VOCABULARY) * factors
        for h in hidden:
            layers += [torch.nn.Linear(width, h), torch.nn.ReLU()]
            width = h
        self.network = torch.nn.Sequential(*layers, torch.nn.Linear(width, 1))

    def forward(self, ids):
        e = self.embedding(ids)
        pairs = 0.5 * (e.sum(1) ** 2 - (e**2).sum(1)).sum(1)
        return self.bias + self.linear(ids).sum((1, 2)) + pairs + self.network(e.flatten(1))[:, 0]


def measure(model, batch):
    optimiser = torch.optim.Adam(model.parameters())
    loss_of = torch.nn.BCEWithLogitsLoss()
    first = torch.tensor([sum(VOCABULARY[:i]) for i in range(len(VOCABULARY))])
    sizes = torch.tensor(VOCABULARY)
    ids = first + (torch.rand(4096, len(VOCABULARY)) * sizes).long()
    labels = (torch.rand(4096) < 0.3).float()
    rates, step = [], 0
    for _ in range(TURNS):
        start, n = time.process_time(), 0
        while time.process_time() - start < TURN_SECONDS:
            at = step * batch % (4096 - batch)
            optimiser.zero_grad()
            loss_of(model(ids[at : at + batch]), labels[at : at + batch]).backward()
            optimiser.step()
            n, step = n + 1, step + 1
        rates.append(n / (time.process_time() - start))
    return max(rates), statistics.median(rates)


def main():
    torch.set_num_threads(1)
    for factors, hidden in SIZES:
        model = DeepFM(factors, hidden)
        count = sum(p.numel() for p in model.parameters())
        for batch in (32, 256):
            best, median = measure(model, batch)
            print("pytorch %9d parameters, batch %3d: %8.0f steps/s best, %8.0f median (%.3f ms)  torch %s"
                  % (count, batch, best, median, 1e3 / median, torch.__version__))


if __name__ == "__main__":
    main()
