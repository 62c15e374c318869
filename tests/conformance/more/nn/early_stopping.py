# early stopping
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader, random_split
torch.manual_seed(0)
X = torch.randn(50, 2); y = (X.sum(1, keepdim=True) > 0).float()
train, val = random_split(TensorDataset(X, y), [40, 10])
tl = DataLoader(train, batch_size=8, shuffle=True); vl = DataLoader(val, batch_size=10)
model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.Adam(model.parameters(), lr=0.05)
lossf = nn.BCEWithLogitsLoss()
best, bad = float('inf'), 0
for epoch in range(15):
    model.train()
    run = 0.
    for xb, yb in tl:
        opt.zero_grad()
        l = lossf(model(xb), yb)
        l.backward()
        opt.step()
        run += l.item()
    model.eval()
    with torch.no_grad():
        v = sum(lossf(model(a), b).item() for a, b in vl)
    print(f"{epoch:2d} {run / len(tl):.4f} {v:.4f}")
    if v < best: best, bad = v, 0
    else: bad += 1
    if bad >= 3: break
