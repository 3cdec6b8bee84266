#!/usr/bin/env python3
"""The networks of bench_convnet in PyTorch: gradient of one mini-batch, one thread. CPU time."""
import statistics
import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    print("pytorch is not installed for this python3: no comparison")
    sys.exit(0)

TURNS, TURN_SECONDS = 9, 0.2


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.stride, self.more = (2 if outputs > inputs else 1), outputs - inputs
        self.conv1 = nn.Conv2d(inputs, outputs, 3, self.stride, 1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1)

    def forward(self, x):
        y = self.conv2(torch.relu(self.conv1(x)))
        if self.more:
            x = nn.functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.more))
        return torch.relu(x + y)


def stack():
    return nn.Sequential(nn.Conv2d(3, 16, 5, 1, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5, 1, 2), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2048, 64), nn.ReLU(), nn.Linear(64, 10))


def resnet(blocks):
    layers, inputs = [nn.Conv2d(3, 16, 3, 1, 1), nn.ReLU()], 16
    for outputs in [16] * blocks + [32] * blocks + [64] * blocks:
        layers.append(Block(inputs, outputs))
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def measure(model, batch):
    loss_of = nn.CrossEntropyLoss()
    images, labels = torch.rand(batch, 3, 32, 32), torch.randint(10, (batch,))
    ms = []
    for _ in range(TURNS):
        start, n = time.process_time(), 0
        while time.process_time() - start < TURN_SECONDS:
            model.zero_grad()
            loss_of(model(images), labels).backward()
            n += 1
        ms.append(1e3 * (time.process_time() - start) / n)
    return min(ms), statistics.median(ms)


def main():
    torch.set_num_threads(1)
    for name, model in (("16-32, 64", stack()), ("resnet-20", resnet(3))):
        for batch in (32, 128):
            best, median = measure(model, batch)
            print("pytorch %s, batch %3d: gradient %7.2f ms best, %7.2f median (%d parameters, torch %s)"
                  % (name, batch, best, median, sum(p.numel() for p in model.parameters()), torch.__version__))


if __name__ == "__main__":
    main()
