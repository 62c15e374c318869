import torch
def rosenbrock(xy):
    x, y = xy
    return (1 - x) ** 2 + 100 * (y - x ** 2) ** 2
xy = torch.tensor([0.3, 0.8], requires_grad=True)
opt = torch.optim.Adam([xy], lr=1e-2)
path = torch.empty((6, 2))
path[0, :] = xy.detach()
for i in range(1, 6):
    opt.zero_grad()
    loss = rosenbrock(xy)
    loss.backward()
    torch.nn.utils.clip_grad_norm_([xy], 1.0)
    opt.step()
    path[i, :] = xy.detach()
print(path)
print(opt.state_dict()["param_groups"][0]["lr"], len(opt.state))
