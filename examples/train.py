"""A training loop with NVTX ranges.

With PyTorch, it trains a small model, on a GPU if there is one. Without PyTorch, it runs a loop that only
sleeps, with ranges by NVIDIA's package `nvtx`. Without both there is nothing to record.

    nvtally record -o t.nvt -- python3 train.py [STEPS]
"""
import sys
import time

try:
    import torch
    from torch.cuda import nvtx
except ImportError:
    torch = None

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 50


def train():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256))
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.randn(64, 256, device=device)
    for _ in range(STEPS):
        with nvtx.range("step"):
            with nvtx.range("forward"):
                loss = (model(data) - data).square().mean()
            with nvtx.range("backward"):
                loss.backward()
            with nvtx.range("optimizer"):
                optimizer.step()
                optimizer.zero_grad()
    print(f"loss {loss.item():.4f}")


def sleep():
    try:
        from nvtx import annotate
    except ImportError:
        print("neither PyTorch nor the package nvtx is here: nothing to record")
        return
    for _ in range(STEPS):
        with annotate("step"):
            for name, seconds in ("forward", 0.001), ("backward", 0.002), ("optimizer", 0.001):
                with annotate(name):
                    time.sleep(seconds)


train() if torch else sleep()
