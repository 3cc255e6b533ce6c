"""A training script as people write it, without NVTX ranges.

    nvtally record --pytorch -- python3 unchanged.py [STEPS]
"""
import sys

try:
    import torch
except ImportError:
    print("PyTorch is not here: there is nothing to train")
    sys.exit()

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


model = torch.nn.Sequential(*(Block(128) for _ in range(6)), torch.nn.Linear(128, 10)).to(device)
optimizer = torch.optim.AdamW(model.parameters())
loss_of = torch.nn.CrossEntropyLoss()
samples = torch.utils.data.TensorDataset(torch.randn(64 * steps, 128), torch.randint(10, (64 * steps,)))
for x, label in torch.utils.data.DataLoader(samples, batch_size=64):
    optimizer.zero_grad()
    loss = loss_of(model(x.to(device)), label.to(device))
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
