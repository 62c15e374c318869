# gan detach
import torch
from torch import nn
torch.manual_seed(0)
G = nn.Linear(2, 1); D = nn.Sequential(nn.Linear(1, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
og = torch.optim.Adam(G.parameters(), lr=0.05, betas=(0.5, 0.999)); od = torch.optim.Adam(D.parameters(), lr=0.05)
bce = nn.BCEWithLogitsLoss()
for i in range(5):
    real = torch.randn(8, 1) * 0.5 + 2; z = torch.randn(8, 2)
    fake = G(z)
    ld = bce(D(real), torch.ones(8, 1)) + bce(D(fake.detach()), torch.zeros(8, 1))
    od.zero_grad(); ld.backward(); od.step()
    lg = bce(D(fake), torch.ones(8, 1))
    og.zero_grad(); lg.backward(); og.step()
    print(f"{ld.item():.4f} {lg.item():.4f}")
