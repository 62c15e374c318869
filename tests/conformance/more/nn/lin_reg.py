# lin reg
import torch
torch.manual_seed(0)
X = torch.linspace(-1, 1, 20).unsqueeze(1)
y = 3 * X + 2 + 0.1 * torch.randn(20, 1)
w = torch.randn(1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr = 0.1
for epoch in range(100):
    pred = X * w + b
    loss = ((pred - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad
        b -= lr * b.grad
        w.grad.zero_()
        b.grad.zero_()
    if (epoch + 1) % 20 == 0:
        print(f"Epoch {epoch + 1}: loss={loss.item():.6f} w={w.item():.4f} b={b.item():.4f}")
