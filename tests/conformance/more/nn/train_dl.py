# train dl
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader
torch.manual_seed(42)
X = torch.randn(64, 3)
w = torch.tensor([[1.5], [-2.0], [0.5]])
Y = X @ w + 0.1 * torch.randn(64, 1)
dl = DataLoader(TensorDataset(X, Y), batch_size=16, shuffle=True)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
loss_fn = nn.MSELoss()
for epoch in range(5):
    total = 0.0
    for xb, yb in dl:
        loss = loss_fn(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    print(f"epoch {epoch}: {total / 64:.6f}")
print(model.weight, model.bias)
