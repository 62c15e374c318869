# autoencoder
import torch
from torch import nn
torch.manual_seed(3)
data = torch.rand(32, 8)
enc = nn.Sequential(nn.Linear(8, 3), nn.ReLU())
dec = nn.Sequential(nn.Linear(3, 8), nn.Sigmoid())
params = list(enc.parameters()) + list(dec.parameters())
opt = torch.optim.AdamW(params, lr=0.02)
for step in range(40):
    out = dec(enc(data))
    loss = nn.BCELoss()(out, data)
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 10 == 0: print(step, f"{loss.item():.5f}")
print(sum(p.numel() for p in params))
