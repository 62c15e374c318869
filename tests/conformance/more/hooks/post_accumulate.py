import torch
x = torch.ones(2, requires_grad=True)
order = []
h = x.register_post_accumulate_grad_hook(lambda p: order.append(("post", p.grad.tolist())))
x.register_hook(lambda g: order.append(("pre", g.tolist())))
(x * 5).sum().backward()
(x * 5).sum().backward()
h.remove()
(x * 5).sum().backward()
print(order)
for t in (x * 2, torch.ones(1)):
    try:
        t.register_post_accumulate_grad_hook(print)
    except RuntimeError as e:
        print(e)
