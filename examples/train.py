import torch

torch.manual_seed(0)
x = torch.linspace(0, 4, 5)
y = torch.tensor([1.1, 2.9, 5.2, 6.8, 9.1])
w = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)
optimizer = torch.optim.SGD([w, b], lr=0.05)
for _ in range(200):
    loss = ((w * x + b - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"w = {w.item():.3f}, b = {b.item():.3f}, loss = {loss.item():.4f}")
