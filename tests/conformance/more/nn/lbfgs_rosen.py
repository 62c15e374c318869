# lbfgs rosen
import torch
x = torch.tensor([-1.5, 2.0], requires_grad=True)
o = torch.optim.LBFGS([x], lr=0.5, max_iter=10, history_size=4, line_search_fn='strong_wolfe')
def closure():
    o.zero_grad()
    f = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    f.backward()
    return f
for i in range(6):
    l = o.step(closure)
    print(i, l.item(), x.tolist())
print(o.state[x]['n_iter'], o.state[x]['func_evals'])
print(list(o.state[x].keys()))
