"""A training script that is slow: its data loader makes the model wait.

    nvtally record --pytorch -- python3 loading.py [STEPS]
"""
import sys
import time

try:
    import torch
except ImportError:
    print("PyTorch is not here: there is nothing to train")
    sys.exit()

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
torch.manual_seed(1)


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 64 * steps

    def __getitem__(self, index):
        time.sleep(0.0004)  # stands for decoding the sample
        return torch.randn(128), index % 10


model = torch.nn.Sequential(
    torch.nn.Linear(128, 512), torch.nn.GELU(), torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.AdamW(model.parameters())
loss_of = torch.nn.CrossEntropyLoss()
for x, label in torch.utils.data.DataLoader(Samples(), batch_size=64):
    optimizer.zero_grad()
    loss = loss_of(model(x), label)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
