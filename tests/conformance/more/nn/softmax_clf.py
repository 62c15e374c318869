# softmax clf
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(42)
N, D, C = 90, 2, 3
X = torch.randn(N, D)
y = (X[:, 0] > 0).long() + (X[:, 1] > 0.5).long()
model = nn.Sequential(nn.Linear(D, 16), nn.ReLU(), nn.Linear(16, C))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)
for epoch in range(60):
    model.train()
    logits = model(X)
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    sched.step()
    if epoch % 20 == 19:
        model.eval()
        with torch.no_grad():
            acc = (model(X).argmax(1) == y).float().mean()
        print(f"{epoch + 1:3d} loss {loss.item():.4f} acc {acc.item():.3f} lr {sched.get_last_lr()[0]:.4f}")
