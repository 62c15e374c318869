# rosen adam
import torch
xy = torch.tensor([-2.0, 2.0], requires_grad=True)
opt = torch.optim.Adam([xy], lr=0.1)
for i in range(200):
    opt.zero_grad()
    x, y = xy
    f = (1 - x) ** 2 + 100 * (y - x ** 2) ** 2
    f.backward()
    opt.step()
    if i % 50 == 0:
        print(i, f.item(), xy.tolist())
print(xy)
