import torch
w = torch.tensor([1., -2.], requires_grad=True)
def step(p):
    with torch.no_grad():
        p -= 0.1 * p.grad
    p.grad = None
w.register_post_accumulate_grad_hook(step)
for i in range(3):
    (w ** 2).sum().backward()
    print(i, w, w.grad)
