"""Trains a small classifier on synthetic measurements, with the mistake that everybody makes once.

One tensor is left on the CPU. On a machine without a GPU that goes unnoticed and the training works; on a GPU, or under
`device-audit run --simulate 2 -- python examples/train.py`, it raises at the first step.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FEATURES = 20
CLASSES = 4

Loader = DataLoader[tuple[torch.Tensor, ...]]


class Classifier(nn.Module):
    """(batch, FEATURES) measurements to (batch, CLASSES) logits."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(FEATURES)
        self.hidden = nn.Linear(FEATURES, hidden)
        self.head = nn.Linear(hidden, CLASSES)

    def forward(self, measurements: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.hidden(self.norm(measurements))))


def make_loader(samples: int, batch_size: int) -> Loader:
    """Measurements scattered around one centre per class, shuffled into batches of (measurements, labels)."""
    labels = torch.randint(CLASSES, (samples,))
    centres = 0.5 * torch.randn(CLASSES, FEATURES)
    measurements = centres[labels] + torch.randn(samples, FEATURES)
    return DataLoader(TensorDataset(measurements, labels), batch_size=batch_size, shuffle=True)


def train_epoch(model: nn.Module, loader: Loader, optimizer: torch.optim.Optimizer, device: torch.device) -> float:
    """One pass over the data; returns the mean loss."""
    criterion = nn.CrossEntropyLoss()
    total = 0.0
    for measurements, labels in loader:
        logits = model(measurements.to(device))
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=64)
    arguments = parser.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = make_loader(samples=512, batch_size=arguments.batch_size)
    model = Classifier(arguments.hidden).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    print(f"training on {device}")
    for epoch in range(1, arguments.epochs + 1):
        print(f"epoch {epoch}: loss {train_epoch(model, loader, optimizer, device):.4f}")


if __name__ == "__main__":
    main()
